#!/usr/bin/python3
# manifests.py - etc/kubernetes: what no schema says, that its parts fit.
# SPDX-License-Identifier: ISC
"""Needs PyYAML; without it nothing is looked at. The schemas of Kubernetes are
`./bootstrap packages`'s; that of ServiceMonitor is of an operator, and none of
those, so its few fields are named here."""
import re

import lint

try:
    import yaml
except ImportError:
    yaml = None

FOLDER = "etc/kubernetes"
MONITOR = {"selector": dict, "endpoints": list}
ENDPOINT = {"port": str, "path": str, "interval": str}


BASE = {"ConfigMap", "Secret", "Deployment", "Service", "PodDisruptionBudget"}
LABELS = {"app.kubernetes.io/name", "app.kubernetes.io/instance"}


def read_all():
    """{kind: manifest} of what is applied, and {path: kustomization}."""
    there, lists = {}, {}
    for path in lint.files(FOLDER, ends=(".yaml",)):
        one = yaml.safe_load(lint.read(path))
        if path.endswith("/kustomization.yaml"):
            lists[path] = one
        else:
            there[one["kind"]] = one
    there["lists"] = lists
    return there


def pod(there):
    return there["Deployment"]["spec"]["template"]


def container(there):
    return pod(there)["spec"]["containers"][0]


def ini(there, key):
    text = there["ConfigMap"]["data"]["pgsluice.ini"]
    return re.search(r"^ *%s = *(\S+)$" % key, text, re.M).group(1)


def kustomization(there):
    """Each names the others in its folder; the base needs nobody's definitions."""
    found = []
    for path, one in there["lists"].items():
        folder = path.rsplit("/", 1)[0]
        inside = sorted(
            p[len(folder) + 1:] for p in lint.files(folder, ends=(".yaml",))
            if p != path and "/" not in p[len(folder) + 1:])
        if sorted(one["resources"]) != inside:
            found.append(f"{path}: {one['resources']}, in the folder: {inside}")
        if one["kind"] != ("Kustomization" if folder == FOLDER else "Component"):
            found.append(f"{path}: {one['kind']}")
    kinds = {yaml.safe_load(lint.read(f"{FOLDER}/{r}"))["kind"] for r in
             there["lists"][f"{FOLDER}/kustomization.yaml"]["resources"]}
    return found + ([] if kinds == BASE else [f"the base has {kinds}"])


def labels(there):
    return [f"{kind}: {one['metadata']['labels']}"
            for kind, one in there.items() if kind != "lists"
            and not LABELS <= set(one["metadata"]["labels"])]


def selectors(there):
    """Whoever selects pods, or the Service, selects what is there."""
    has = pod(there)["metadata"]["labels"]
    wanted = {
        "Deployment": there["Deployment"]["spec"]["selector"]["matchLabels"],
        "Service": there["Service"]["spec"]["selector"],
        "PodDisruptionBudget":
            there["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
        "NetworkPolicy":
            there["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"]}
    found = [f"{kind}: selects {want}, pods have {has}"
             for kind, want in wanted.items()
             if not want.items() <= has.items()]
    want = there["ServiceMonitor"]["spec"]["selector"]["matchLabels"]
    has = there["Service"]["metadata"]["labels"]
    if not want.items() <= has.items():
        found.append(f"ServiceMonitor: selects {want}, the Service has {has}")
    target = there["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]
    if target["name"] != there["Deployment"]["metadata"]["name"]:
        found.append(f"HorizontalPodAutoscaler: no {target['name']}")
    return found


def ports(there):
    """By name from the monitor to the Service to the pod to the ini file."""
    offered = {p["name"]: p["containerPort"] for p in container(there)["ports"]}
    served = {p["name"]: p["targetPort"] for p in there["Service"]["spec"]["ports"]}
    found = [f"Service: no port {p} of the pod"
             for p in served.values() if p not in offered]
    found += [f"ServiceMonitor: no port {e['port']} of the Service"
              for e in there["ServiceMonitor"]["spec"]["endpoints"]
              if e["port"] not in served]
    found += [f"NetworkPolicy: no port {p['port']} of the pod"
              for rule in there["NetworkPolicy"]["spec"]["ingress"]
              for p in rule["ports"] if p["port"] not in offered]
    found += [f"{probe}: no port of the pod"
              for probe in ("readinessProbe", "livenessProbe")
              if container(there)[probe]["httpGet"]["port"] not in offered]
    listens = {"postgres": "listen_port", "http": "http_listen_port"}
    return found + [f"{key}: not {offered[name]}" for name, key in listens.items()
                    if ini(there, key) != str(offered[name])]


def volumes(there):
    """What is mounted is made of what is there."""
    sources = pod(there)["spec"]["volumes"][0]["projected"]["sources"]
    kinds = {"configMap": "ConfigMap", "secret": "Secret"}
    found = [f"no {kinds[kind]} {ref['name']}" for s in sources
             for kind, ref in s.items()
             if there[kinds[kind]]["metadata"]["name"] != ref["name"]]
    names = {v["name"] for v in pod(there)["spec"]["volumes"]}
    return found + [f"{c['name']}: no volume {m['name']}"
                    for c in pod(there)["spec"]["containers"]
                    for m in c["volumeMounts"] if m["name"] not in names]


def in_time(there):
    """Kubernetes waits for longer than the pod drains."""
    drain = int(container(there)["lifecycle"]["preStop"]["exec"]["command"][-1])
    grace = pod(there)["spec"]["terminationGracePeriodSeconds"]
    need = drain + int(ini(there, "shutdown_grace"))
    return [] if grace > need else [f"{grace} s to end, {need} s are needed"]


def fields(what, value, known):
    wrong = [k for k, v in value.items()
             if k not in known or not isinstance(v, known[k])]
    return [f"{what}: {sorted(wrong)}"] if wrong else []


def monitor(there):
    one = there["ServiceMonitor"]
    found = fields("spec", one["spec"], MONITOR)
    for e in one["spec"]["endpoints"]:
        found += fields("endpoint", e, ENDPOINT)
        if e["path"] != "/metrics" or not re.fullmatch(r"\d+s", e["interval"]):
            found.append(f"endpoint: {e}")
    if one["apiVersion"] != "monitoring.coreos.com/v1":
        found.append(one["apiVersion"])
    return found


def main():
    checks = (kustomization, labels, selectors, ports, volumes, in_time, monitor)
    if yaml is None:
        lint.finish({f"{c.__name__} # SKIP no PyYAML": [] for c in checks})
        return
    there = read_all()
    lint.finish({c.__name__: c(there) for c in checks})


main()
