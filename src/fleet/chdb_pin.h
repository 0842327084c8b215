/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chdb_pin - the one build of libchdb that geiger loads; script/chdb fetches it.
 *
 * The statements are proven on this build (script/proof fleet-engine).  Change all lines together.
 */
#pragma once

#define GG_CHDB_PACKAGE "@chdb/lib-linux-x64-gnu@26.7.3-stable.1"
#define GG_CHDB_ENGINE  "26.7.2.1" /* as SELECT version() has it */
#define GG_CHDB_SHA256  "36ad4e999882821ef13cf2d0f52c93f48e6ee1b4498b35a201c23ce4b8d15bf5"
