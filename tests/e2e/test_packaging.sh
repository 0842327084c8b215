#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2317 # functions are called through check
#
# test_packaging.sh GEIGER LIBRARIES - the examples for systemd, containers and Kubernetes are well
# formed, and what they run does what they say.
. tests/test.sh

listing=$PWD/CHANGELOG.md # to be sorted
geiger=$1
libraries=$2
export GEIGER_LOG=$scratch/log

# Units as they would be installed, of a service of that name.
units=$scratch/units
mkdir -p "$units/web.service.d"
cp packaging/systemd/* "$units"
cp packaging/systemd/geiger.conf "$units/web.service.d"
printf '[Service]\nExecStart=/bin/true\n' >"$units/web.service"
ln -s geiger-salvage@.service "$units/geiger-salvage@web.service"
ln -s geiger-send@.service "$units/geiger-send@web.service"
ln -s geiger-salvage@.timer "$units/geiger-salvage@web.timer"
sed -i "s|/usr/bin/geiger|$geiger|" "$units"/geiger-{salvage@,send@,fleet-receive}.service

units_are_well_formed() {
	local said
	said=$(SYSTEMD_UNIT_PATH=$units: systemd-analyze verify --man=no "$units"/{web,geiger-salvage@web,geiger-send@web,geiger-fleet-receive}.service \
		"$units/geiger-salvage@web.timer" 2>&1)
	echo "$said"
	[[ -z $said ]]
}

# Expands a value of web.service as systemd does, with other directories.
of_web() {
	sed "s|%[iN]|web|g; s|%t|/run|g; s|%%|%|g; s|\$\\$|$|g; s|/run/geiger|$scratch/run|g; s|/var/lib/geiger/web|$scratch/state|g; s|/usr/bin/geiger|$geiger|g"
}
values() {
	sed -n "s/^$2=//p" "packaging/systemd/$1" | of_web
}

# The drop-in's environment, then what the salvaging unit runs.
the_service_is_profiled() (
	commands=$(values geiger-salvage@.service ExecStart)
	mkdir -p "$scratch/run/web" "$scratch/state"
	[[ /run/$(values geiger.conf RuntimeDirectory) == /run/geiger/web ]] || exit
	while read -r variable; do
		export "${variable?}"
	done < <(values geiger.conf Environment)
	LD_LIBRARY_PATH=$libraries GEIGER_INTERVAL=1k sort "$listing" >/dev/null
	unset LD_PRELOAD
	cd "$scratch/state" || exit
	[[ $("$geiger" ls "$scratch/run/web" | wc -l) == 2 ]] || exit
	while read -r command; do
		sh -c "$command" || exit
	done <<<"$commands"
	"$geiger" check ./*.geiger && "$geiger" report --metric allocated ./*.geiger | grep sort
)

# The commands of the sending unit and of the pod's sidecar reach a receiver, with one look each at
# the regions of the service.
the_service_is_sent() (
	ran=$(values geiger-send@.service ExecStart)
	[[ /var/lib/$(values geiger-send@.service StateDirectory) == /var/lib/geiger-send/web ]] || exit
	PYTHONPATH=tests/e2e python3 - "$geiger" "$scratch" "$ran" <<-'END'
		import os, re, subprocess, sys
		from send_receiver import Receiver, otlp_profiles

		geiger, scratch, unit = sys.argv[1:]
		pod = open("packaging/kubernetes/pod-send.yaml", encoding="utf-8").read()
		sidecar = re.search(r"exec geiger send (.*)", pod)[0].replace("exec geiger", f"exec {geiger}")
		sidecar = sidecar.replace("/geiger/regions", f"{scratch}/run/web")
		variables = dict(re.findall(r"- name: (OTEL_\w+)\n +value: (.*)", pod))
		with Receiver() as receiver:
		    here = f"http://127.0.0.1:{receiver.port}"
		    variables["OTEL_EXPORTER_OTLP_ENDPOINT"] = variables["OTEL_EXPORTER_OTLP_ENDPOINT"].replace(
		        "http://COLLECTOR:4318", here)
		    for name, command, more, wanted in (
		            ("unit", unit, {"OTEL_EXPORTER_OTLP_ENDPOINT": here}, {"service.name": "web"}),
		            ("sidecar", sidecar, variables, {"service.name": "application",
		                                             "deployment.environment": "production"})):
		        state = os.path.join(scratch, name)
		        os.mkdir(state)
		        result = subprocess.run(["sh", "-c", command + " --looks 1"], capture_output=True, text=True, env={
		            "PATH": os.environ["PATH"], "HOME": scratch, "STATE_DIRECTORY": state, **more})
		        assert result.returncode == 0, result
		        requests = receiver.take()
		        assert requests and os.listdir(state), (name, result)
		        for request in requests:
		            profiles, wrong = otlp_profiles(request.body)
		            assert not wrong and len(profiles) == 4, wrong
		            assert wanted.items() <= profiles[0][4].items(), profiles[0][4]
	END
)

pod_is_well_formed() {
	python3 - <<-'END'
		import re, subprocess, yaml
		known = set(re.findall(r"`(GEIGER_\w+)`", open("docs/AGENT.md", encoding="utf-8").read()))
		known |= {"LD_PRELOAD", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES",
		          "STATE_DIRECTORY"}
		for path in "pod.yaml", "pod-send.yaml":
		    with open(f"packaging/kubernetes/{path}", encoding="utf-8") as file:
		        (pod,) = yaml.safe_load_all(file)
		    assert (pod["apiVersion"], pod["kind"]) == ("v1", "Pod")
		    volumes = {volume["name"] for volume in pod["spec"]["volumes"]}
		    names = set()
		    for container in pod["spec"]["initContainers"] + pod["spec"]["containers"]:
		        names.add(container["name"])
		        assert {mount["name"] for mount in container["volumeMounts"]} <= volumes
		        for variable in container.get("env", []):
		            assert isinstance(variable["value"], str)
		            assert variable["name"] in known, variable
		        if "command" in container:
		            assert container["command"][:2] == ["sh", "-c"]
		            subprocess.run(["sh", "-n", "-c", container["command"][2]], check=True)
		    assert len(names) == 3 and all(re.fullmatch("[a-z0-9-]{1,63}", name) for name in names)
	END
}

# The instructions of the recipe, one a line.
instructions() {
	sed -e '/^#/d' -e '/^$/d' -e ':join' -e '/\\$/{N; s/\\\n\s*//; b join' -e '}' packaging/container/Containerfile
}

recipe_is_well_formed() {
	local word rest stages=''
	while read -r word rest; do
		case $word in
		FROM)
			[[ $rest == *' AS '* ]] || return
			stages+=" ${rest##* } "
			;;
		RUN) sh -n -c "$rest" || return ;;
		COPY)
			# From a stage that was there before, or of what there is here.
			if [[ $rest == --from=* ]]; then
				rest=${rest#--from=}
				[[ $stages == *" ${rest%% *} "* ]] || return
			else
				[[ -e ${rest%% *} ]] || return
			fi
			;;
		CMD | ENTRYPOINT) python3 -c 'import json, sys; json.loads(sys.argv[1])' "$rest" || return ;;
		ARG | ENV | VOLUME | WORKDIR) ;;
		*)
			echo "no instruction: $word"
			return 1
			;;
		esac
	done < <(instructions)
	[[ $stages == ' build  geiger  example ' ]]
}

if command -v systemd-analyze >/dev/null; then
	check units_are_well_formed units_are_well_formed
else
	echo 'skipped - units_are_well_formed: no systemd-analyze'
fi
check the_service_is_profiled the_service_is_profiled
check the_service_is_sent the_service_is_sent
if python3 -c 'import yaml' 2>/dev/null; then
	check pod_is_well_formed pod_is_well_formed
else
	echo 'skipped - pod_is_well_formed: no python3-yaml'
fi
check recipe_is_well_formed recipe_is_well_formed
finish
