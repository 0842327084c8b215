/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ziggurat - holds the area under exp(-x), cut into 256 layers of equal area (Marsaglia & Tsang,
 * "The ziggurat method for generating random variables", J. Stat. Softw. 5(8), 2000).
 *
 * Layer 0 is the strip along the axis with the tail: everything below exp(-r).  Layer i > 0 is the
 * rectangle from 0 to x[i] between exp(-x[i]) and exp(-x[i+1]), so it reaches beyond the curve from
 * x[i+1] on.  With v the area of each layer,
 *
 *   x[0] = v / exp(-r),  x[1] = r,  exp(-x[i+1]) = exp(-x[i]) + v/x[i],  v = (r + 1) exp(-r),
 *
 * and r is the number for which the last layer ends at the top of the curve, x[256] = 0.
 * test_stats_rng computes all of it anew, in long double.
 */
#pragma once

#include <stdint.h>

enum { GG_ZIGGURAT_LAYERS = 256 };

#define GG_ZIGGURAT_TAIL 0x1.ec9d9297ebb83p+2 /* r = 7.697... */

/*
 * Below this, a j of 53 random bits is too coarse.  Otherwise j * width has a granularity below
 * 2^-31 of it.
 */
#define GG_ZIGGURAT_COARSE (UINT64_C(1) << 31)

static const struct gg_ziggurat_layer {
	/*
	 * If j - GG_ZIGGURAT_COARSE is below this (as unsigned numbers), j is not coarse, and j *
	 * width is below x[i+1], so under the curve.  floor(2^53 x[i+1] / x[i]) -
	 * GG_ZIGGURAT_COARSE, or 0.
	 */
	uint64_t accept;
	double width; /* x[i] / 2^53 */
} gg_ziggurat[GG_ZIGGURAT_LAYERS] = {
	/* clang-format off */
	{ 0x1c5213a72497c7, 0x1.164ec94bf5dc1p-50 }, { 0x1cdb4d59e4e8c0, 0x1.ec9d9297ebb83p-51 },
	{ 0x1dddf5abac0bb1, 0x1.bc39e51da71fcp-51 }, { 0x1e5961478b267c, 0x1.9e9dc0d487b85p-51 },
	{ 0x1ea2a59e122db1, 0x1.8939fe6f2ed19p-51 }, { 0x1ed38c2188151e, 0x1.78750d6eac62fp-51 },
	{ 0x1ef6ae7a57cbe7, 0x1.6aa676d4bbf72p-51 }, { 0x1f113d847b0414, 0x1.5ee7ae17313d2p-51 },
	{ 0x1f2613b450340a, 0x1.54ad83ccf73f6p-51 }, { 0x1f36e5238a59a2, 0x1.4b9d7cd4751d1p-51 },
	{ 0x1f44c6e65c6fdb, 0x1.4379766e41362p-51 }, { 0x1f5071cece1172, 0x1.3c14ec7c8b861p-51 },
	{ 0x1f5a66104fe3c4, 0x1.354ee27ccf75ep-51 }, { 0x1f62ff80a8e267, 0x1.2f0e38a4411f0p-51 },
	{ 0x1f6a81b4b7352b, 0x1.293f5ae49aaa5p-51 }, { 0x1f711f8f1a241c, 0x1.23d2bb659919fp-51 },
	{ 0x1f770023582acc, 0x1.1ebbca0c9fa7cp-51 }, { 0x1f7c41f839e926, 0x1.19f03bcb3c2d6p-51 },
	{ 0x1f80fd4336039b, 0x1.156786775442ap-51 }, { 0x1f85457904db8f, 0x1.111a8034392a6p-51 },
	{ 0x1f892a6c479607, 0x1.0d031785d48a0p-51 }, { 0x1f8cb91e7385f8, 0x1.091c1cdcba54ep-51 },
	{ 0x1f8ffc5a9ae41d, 0x1.056118bf58eefp-51 }, { 0x1f92fd29cef1f3, 0x1.01ce2b362ec2ep-51 },
	{ 0x1f95c32bd03f79, 0x1.fcbfe43f6c6e5p-52 }, { 0x1f9854db782fb9, 0x1.f626e9791f7a7p-52 },
	{ 0x1f9ab7c415abc5, 0x1.efcc26750ea4ap-52 }, { 0x1f9cf0ab79f9bd, 0x1.e9aaf2af383c1p-52 },
	{ 0x1f9f03b36bbe0b, 0x1.e3bf26e190960p-52 }, { 0x1fa0f4747df315, 0x1.de050af4ef19fp-52 },
	{ 0x1fa2c613c5c095, 0x1.d87946fec3becp-52 }, { 0x1fa47b548bea00, 0x1.d318d6b2738c5p-52 },
	{ 0x1fa616a6d1f214, 0x1.cde0fecf2a97fp-52 }, { 0x1fa79a33508d3d, 0x1.c8cf442c8c8f4p-52 },
	{ 0x1fa907e56f66a2, 0x1.c3e1641c2e0a7p-52 }, { 0x1faa617399ff28, 0x1.bf154de4bef77p-52 },
	{ 0x1faba86640060b, 0x1.ba691d276da5ep-52 }, { 0x1facde1dbf2d73, 0x1.b5db15091ea0fp-52 },
	{ 0x1fae03d767e105, 0x1.b1699c003b60ap-52 }, { 0x1faf1ab1c479a7, 0x1.ad13382d845c4p-52 },
	{ 0x1fb023b042e1c2, 0x1.a8d68c2ad86eap-52 }, { 0x1fb11fbe5a9604, 0x1.a4b2543e84c3bp-52 },
	{ 0x1fb20fb2442853, 0x1.a0a563e49f178p-52 }, { 0x1fb2f44f539c3f, 0x1.9caea3a24d9eap-52 },
	{ 0x1fb3ce4803e747, 0x1.98cd0f18d1ad8p-52 }, { 0x1fb49e3fbf69d2, 0x1.94ffb34fc2a0ep-52 },
	{ 0x1fb564cc6f37e1, 0x1.9145ad2f37544p-52 }, { 0x1fb62277d96943, 0x1.8d9e2823b3695p-52 },
	{ 0x1fb6d7c0d55594, 0x1.8a085ce695babp-52 }, { 0x1fb7851c5b895c, 0x1.8683906687342p-52 },
	{ 0x1fb82af6765b54, 0x1.830f12cc0bec3p-52 }, { 0x1fb8c9b3174a17, 0x1.7faa3e96e1412p-52 },
	{ 0x1fb961aed4abfc, 0x1.7c5477d1476d3p-52 }, { 0x1fb9f33f92b619, 0x1.790d2b56b71f9p-52 },
	{ 0x1fba7eb51a70ad, 0x1.75d3ce2bd71c3p-52 }, { 0x1fbb0459a0d18d, 0x1.72a7dce5cd218p-52 },
	{ 0x1fbb84723fe6a2, 0x1.6f88db1f42507p-52 }, { 0x1fbbff3f63b7aa, 0x1.6c7652f9a7b1ep-52 },
	{ 0x1fbc74fd2c4de5, 0x1.696fd4a9748eep-52 }, { 0x1fbce5e3c6201b, 0x1.6674f60c3f432p-52 },
	{ 0x1fbd5227b9f826, 0x1.63855247b2e94p-52 }, { 0x1fbdb9fa354408, 0x1.60a0897081879p-52 },
	{ 0x1fbe1d894ba614, 0x1.5dc640388bd9ep-52 }, { 0x1fbe7d00327ddb, 0x1.5af61fa38e107p-52 },
	{ 0x1fbed887770cc6, 0x1.582fd4c1b4461p-52 }, { 0x1fbf30452fc60b, 0x1.5573106f8a75ap-52 },
	{ 0x1fbf845d29488f, 0x1.52bf871acaab2p-52 }, { 0x1fbfd4f10f72b9, 0x1.5014f08b99508p-52 },
	{ 0x1fc0222092f365, 0x1.4d7307b1cb127p-52 }, { 0x1fc06c098baff1, 0x1.4ad98a75da14cp-52 },
	{ 0x1fc0b2c8184da4, 0x1.4848398d39432p-52 }, { 0x1fc0f676bb2415, 0x1.45bed851bc92cp-52 },
	{ 0x1fc1372e74d6b7, 0x1.433d2c9bd42f8p-52 }, { 0x1fc17506dccd10, 0x1.40c2fe9f5eeadp-52 },
	{ 0x1fc1b01637bb3c, 0x1.3e5018cadded0p-52 }, { 0x1fc1e8718c6756, 0x1.3be447a8d8b83p-52 },
	{ 0x1fc21e2cb6d39e, 0x1.397f59c345143p-52 }, { 0x1fc2515a79f164, 0x1.37211f88ca856p-52 },
	{ 0x1fc2820c8ffcf0, 0x1.34c96b33bc965p-52 }, { 0x1fc2b053b99f9e, 0x1.327810b2aa7d0p-52 },
	{ 0x1fc2dc3fcbf263, 0x1.302ce59265965p-52 }, { 0x1fc305dfbd7888, 0x1.2de7c0e962d70p-52 },
	{ 0x1fc32d41b22819, 0x1.2ba87b445db51p-52 }, { 0x1fc35273069371, 0x1.296eee942532bp-52 },
	{ 0x1fc375805a4593, 0x1.273af61c7daa6p-52 }, { 0x1fc3967599614c, 0x1.250c6e6403bbap-52 },
	{ 0x1fc3b55e0591b4, 0x1.22e33524fe550p-52 }, { 0x1fc3d2443e593c, 0x1.20bf293f0f4a2p-52 },
	{ 0x1fc3ed3248cb62, 0x1.1ea02aa9b3370p-52 }, { 0x1fc4063196bbf7, 0x1.1c861a6782a5ap-52 },
	{ 0x1fc41d4b0d6e0e, 0x1.1a70da7a27820p-52 }, { 0x1fc432870bcb99, 0x1.18604dd6fae9ep-52 },
	{ 0x1fc445ed702e21, 0x1.1654585c404c1p-52 }, { 0x1fc457859dc037, 0x1.144cdec6f3a2bp-52 },
	{ 0x1fc46756817e83, 0x1.1249c6a92154ap-52 }, { 0x1fc4756696dee6, 0x1.104af660befcep-52 },
	{ 0x1fc481bbec237a, 0x1.0e50550efcfb7p-52 }, { 0x1fc48c5c265ec1, 0x1.0c59ca900946fp-52 },
	{ 0x1fc4954c852df5, 0x1.0a673f733c819p-52 }, { 0x1fc49c91e62de3, 0x1.08789cf3aad0fp-52 },
	{ 0x1fc4a230c82e75, 0x1.068dccf1126dbp-52 }, { 0x1fc4a62d4e28a0, 0x1.04a6b9e9224a3p-52 },
	{ 0x1fc4a88b41fa34, 0x1.02c34ef11391bp-52 }, { 0x1fc4a94e16ea9f, 0x1.00e377af911d4p-52 },
	{ 0x1fc4a878ebfb8c, 0x1.fe0e40add09d8p-53 }, { 0x1fc4a60e8e07fc, 0x1.fa5c6b3efe1e5p-53 },
	{ 0x1fc4a21179b433, 0x1.f6b1498515ed0p-53 }, { 0x1fc49c83dd30b1, 0x1.f30cb6ea0bc7fp-53 },
	{ 0x1fc4956799d21b, 0x1.ef6e8fc5b9168p-53 }, { 0x1fc48cbe457ff6, 0x1.ebd6b154a7678p-53 },
	{ 0x1fc482892bfbb9, 0x1.e844f9af4237fp-53 }, { 0x1fc476c95001b2, 0x1.e4b947c16a452p-53 },
	{ 0x1fc4697f6c4504, 0x1.e1337b426509bp-53 }, { 0x1fc45aabf447e8, 0x1.ddb374ad2357fp-53 },
	{ 0x1fc44a4f15112a, 0x1.da391538da50ap-53 }, { 0x1fc43868b5bfc7, 0x1.d6c43ed1ea3fep-53 },
	{ 0x1fc424f877fd68, 0x1.d354d4130f2adp-53 }, { 0x1fc40ffdb85061, 0x1.cfeab83ed7180p-53 },
	{ 0x1fc3f9778e4da8, 0x1.cc85cf395a56cp-53 }, { 0x1fc3e164ccab40, 0x1.c925fd82323fbp-53 },
	{ 0x1fc3c7c4013349, 0x1.c5cb282eab1a4p-53 }, { 0x1fc3ac937497fa, 0x1.c27534e42e02dp-53 },
	{ 0x1fc38fd12a2887, 0x1.bf2409d2dfd85p-53 }, { 0x1fc3717adf66f8, 0x1.bbd78db072610p-53 },
	{ 0x1fc3518e0b7ec7, 0x1.b88fa7b324fb6p-53 }, { 0x1fc33007de9c0f, 0x1.b54c3f8cf2542p-53 },
	{ 0x1fc30ce54122ed, 0x1.b20d3d66e8bb5p-53 }, { 0x1fc2e822d2c6b4, 0x1.aed289dcaacffp-53 },
	{ 0x1fc2c1bce98046, 0x1.ab9c0df81657ap-53 }, { 0x1fc299af90630f, 0x1.a869b32d0f30fp-53 },
	{ 0x1fc26ff6864fc2, 0x1.a53b63556c690p-53 }, { 0x1fc2448d3c83ff, 0x1.a21108ad0592dp-53 },
	{ 0x1fc2176ed505de, 0x1.9eea8dcdde951p-53 }, { 0x1fc1e89620ea43, 0x1.9bc7ddac7035dp-53 },
	{ 0x1fc1b7fd9e74b4, 0x1.98a8e3940bbf4p-53 }, { 0x1fc1859f770f4b, 0x1.958d8b235828ap-53 },
	{ 0x1fc151757d1943, 0x1.9275c048e73e1p-53 }, { 0x1fc11b79298a64, 0x1.8f616f3fe1513p-53 },
	{ 0x1fc0e3a399698a, 0x1.8c50848cc6094p-53 }, { 0x1fc0a9ed8b1427, 0x1.8942ecfa40f54p-53 },
	{ 0x1fc06e4f5b54b3, 0x1.86389596108e7p-53 }, { 0x1fc030c1024589, 0x1.83316badfe62ap-53 },
	{ 0x1fbff13a0ffdb0, 0x1.802d5ccce7277p-53 }, { 0x1fbfafb1a904c4, 0x1.7d2c56b7d17f7p-53 },
	{ 0x1fbf6c1e828ae3, 0x1.7a2e476b1240ap-53 }, { 0x1fbf2676de6175, 0x1.77331d177d130p-53 },
	{ 0x1fbedeb086b128, 0x1.743ac61fa041cp-53 }, { 0x1fbe94c0c9695f, 0x1.714531150a9fbp-53 },
	{ 0x1fbe489c7364de, 0x1.6e524cb59a608p-53 }, { 0x1fbdfa37cb3f41, 0x1.6b6207e8d3cdfp-53 },
	{ 0x1fbda9868bd66b, 0x1.687451bd3ebeep-53 }, { 0x1fbd567bde729c, 0x1.65891965c9b8cp-53 },
	{ 0x1fbd010a548f9f, 0x1.62a04e3731a2ep-53 }, { 0x1fbca923e140d5, 0x1.5fb9dfa56cf26p-53 },
	{ 0x1fbc4eb9d22995, 0x1.5cd5bd4119335p-53 }, { 0x1fbbf1bcc8029e, 0x1.59f3d6b4e9cf9p-53 },
	{ 0x1fbb921caea4e2, 0x1.57141bc316f27p-53 }, { 0x1fbb2fc8b49145, 0x1.54367c42cb5f8p-53 },
	{ 0x1fbacaaf41ec17, 0x1.515ae81d900fbp-53 }, { 0x1fba62bdeee286, 0x1.4e814f4cb45eap-53 },
	{ 0x1fb9f7e1796f27, 0x1.4ba9a1d6b18a4p-53 }, { 0x1fb98a05ba7204, 0x1.48d3cfcc883c4p-53 },
	{ 0x1fb919159a0f74, 0x1.45ffc94716ca7p-53 }, { 0x1fb8a4fb0347f6, 0x1.432d7e6466cd0p-53 },
	{ 0x1fb82d9ed6ba09, 0x1.405cdf44f09c4p-53 }, { 0x1fb7b2e8dc7da8, 0x1.3d8ddc08d336dp-53 },
	{ 0x1fb734bfb50799, 0x1.3ac064ccfeffcp-53 }, { 0x1fb6b308c9010a, 0x1.37f469a851af0p-53 },
	{ 0x1fb62da837fe59, 0x1.3529daa8a1ba1p-53 }, { 0x1fb5a480c5fdaa, 0x1.3260a7cfb7611p-53 },
	{ 0x1fb51773c793fd, 0x1.2f98c11031721p-53 }, { 0x1fb486610cacd7, 0x1.2cd2164a53b5dp-53 },
	{ 0x1fb3f126c9be0c, 0x1.2a0c9748bcdaap-53 }, { 0x1fb357a17f4e18, 0x1.274833bd0189fp-53 },
	{ 0x1fb2b9abdfa84b, 0x1.2484db3c2a329p-53 }, { 0x1fb2171eb2963a, 0x1.21c27d3b10e05p-53 },
	{ 0x1fb16fd0b6f1fb, 0x1.1f01090a9c4e2p-53 }, { 0x1fb0c39681dff4, 0x1.1c406dd3d5283p-53 },
	{ 0x1fb012425b7a13, 0x1.19809a93d2396p-53 }, { 0x1faf5ba418b07e, 0x1.16c17e1777ffbp-53 },
	{ 0x1fae9f88f21d6d, 0x1.140306f707dbep-53 }, { 0x1fadddbb5782c1, 0x1.114523917ac15p-53 },
	{ 0x1fad1602bf9fe9, 0x1.0e87c207a2f66p-53 }, { 0x1fac4823740585, 0x1.0bcad03710137p-53 },
	{ 0x1fab73de588232, 0x1.090e3bb4b0072p-53 }, { 0x1faa98f0adb858, 0x1.0651f1c7276f8p-53 },
	{ 0x1fa9b713ce5fef, 0x1.0395df60db162p-53 }, { 0x1fa8cdfce6a875, 0x1.00d9f119a3cd9p-53 },
	{ 0x1fa7dd5ca51ec4, 0x1.fc3c26504a9a1p-54 }, { 0x1fa6e4dee46783, 0x1.f6c462b57feb5p-54 },
	{ 0x1fa5e42a4d097d, 0x1.f14c6e202949fp-54 }, { 0x1fa4dadfee6aa3, 0x1.ebd41e5e21b62p-54 },
	{ 0x1fa3c89ace0683, 0x1.e65b483cf1044p-54 }, { 0x1fa2acef6bc4fc, 0x1.e0e1bf77c31fep-54 },
	{ 0x1fa1876b3a3339, 0x1.db6756a429057p-54 }, { 0x1fa057940936c0, 0x1.d5ebdf1d86b8dp-54 },
	{ 0x1f9f1ce761a1ce, 0x1.d06f28ef0e6fbp-54 }, { 0x1f9dd6d9cfd803, 0x1.caf102bc25adbp-54 },
	{ 0x1f9c84d61b717a, 0x1.c57139a70d29fp-54 }, { 0x1f9b263c697f00, 0x1.bfef99359fe99p-54 },
	{ 0x1f99ba6146ba81, 0x1.ba6beb33f8f89p-54 }, { 0x1f98408c968892, 0x1.b4e5f794c979bp-54 },
	{ 0x1f96b7f8633892, 0x1.af5d844f224c9p-54 }, { 0x1f951fcf8b64db, 0x1.a9d255396d261p-54 },
	{ 0x1f93772c47afd8, 0x1.a4442be14884ap-54 }, { 0x1f91bd168358e1, 0x1.9eb2c75ff03bfp-54 },
	{ 0x1f8ff082013e17, 0x1.991de42ad1338p-54 }, { 0x1f8e104c45d04a, 0x1.93853bdfda244p-54 },
	{ 0x1f8c1b3a3d39ad, 0x1.8de8850d0c52ap-54 }, { 0x1f8a0ff59374fa, 0x1.884772f2be1ecp-54 },
	{ 0x1f87ed09b24262, 0x1.82a1b53fed599p-54 }, { 0x1f85b0e056b913, 0x1.7cf6f7c7e8172p-54 },
	{ 0x1f8359bdad9162, 0x1.7746e23077973p-54 }, { 0x1f80e5bbe21139, 0x1.71911797990bbp-54 },
	{ 0x1f7e52c6079f8a, 0x1.6bd5362faa944p-54 }, { 0x1f7b9e92413ff5, 0x1.6612d6d0c68e0p-54 },
	{ 0x1f78c69b045cc0, 0x1.60498c7dd2ecfp-54 }, { 0x1f75c8174d09d7, 0x1.5a78e3db8befdp-54 },
	{ 0x1f729ff190f13a, 0x1.54a0629786f4dp-54 }, { 0x1f6f4abd32e4f4, 0x1.4ebf86bcd0b93p-54 },
	{ 0x1f6bc4aa2b02e7, 0x1.48d5c5f35e712p-54 }, { 0x1f680976859679, 0x1.42e28ca706748p-54 },
	{ 0x1f64145d445772, 0x1.3ce53d12162a0p-54 }, { 0x1f5fe00210d08c, 0x1.36dd2e26d8202p-54 },
	{ 0x1f5b6659099996, 0x1.30c9aa526da4bp-54 }, { 0x1f56a089c3ecc0, 0x1.2aa9ee123680bp-54 },
	{ 0x1f5186cc5c3322, 0x1.247d26538ff2ep-54 }, { 0x1f4c103f1d3a0f, 0x1.1e426e93e49e7p-54 },
	{ 0x1f4632b2d788fb, 0x1.17f8ceb4bdfa0p-54 }, { 0x1f3fe26b6e694c, 0x1.119f38749f5afp-54 },
	{ 0x1f3911d157c106, 0x1.0b348479b80fcp-54 }, { 0x1f31b10fb95532, 0x1.04b76ed6a7558p-54 },
	{ 0x1f29ad9951a874, 0x1.fc4d25d683209p-55 }, { 0x1f20f18c452571, 0x1.ef00ccf5f4faap-55 },
	{ 0x1f1762e9f1f77a, 0x1.e186678f1735ap-55 }, { 0x1f0ce293a796b7, 0x1.d3da24df17c36p-55 },
	{ 0x1f014af6ddd4a4, 0x1.c5f7bd78c3f89p-55 }, { 0x1ef46e4a361cd0, 0x1.b7da5dddda3c4p-55 },
	{ 0x1ee6142e6e5688, 0x1.a97c8be5d5203p-55 }, { 0x1ed5f6708799ce, 0x1.9ad80552237d2p-55 },
	{ 0x1ec3bc87b46557, 0x1.8be5954d3606fp-55 }, { 0x1eaef5314ef09e, 0x1.7c9cdda17d019p-55 },
	{ 0x1e970d2f08ae3e, 0x1.6cf40f0a72bbdp-55 }, { 0x1e7b41896f046c, 0x1.5cdf89d024ac3p-55 },
	{ 0x1e5a8a977cb7a3, 0x1.4c515c60bfe21p-55 }, { 0x1e337af1d47837, 0x1.3b388fe3d6ecap-55 },
	{ 0x1e04095fac9dc9, 0x1.2980290da2633p-55 }, { 0x1dc9345d172c71, 0x1.170db24d6f670p-55 },
	{ 0x1d7e5b556b18b3, 0x1.03bf049c65c3cp-55 }, { 0x1d1bfdad5c3973, 0x1.decd8b76dbd98p-56 },
	{ 0x1c951c8f88651b, 0x1.b38d1ef79b7ccp-56 }, { 0x1bd1277719447c, 0x1.85090fbc27a80p-56 },
	{ 0x1a9bb6b20eb0ae, 0x1.522e6e54a2a73p-56 }, { 0x186ef50e3f3c10, 0x1.19335a95b8dbap-56 },
	{ 0x137d5b579c317f, 0x1.ad6b2495b4d2bp-57 }, { 0x00000000000000, 0x1.0589d8b5d4119p-57 },
	/* clang-format on */
};
