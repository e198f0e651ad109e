{{/* Refuses values that the schema cannot refuse. Each message says what to do. */}}
{{- define "lkeplan.check" -}}
{{- include "lkeplan.defaults" . -}}
{{- $v := .Values -}}
{{- $instances := include "lkeplan.instances" . -}}
{{- if $instances -}}
{{- include "lkeplan.checkInstances" . -}}
{{- else if not $v.settings.clusterName -}}
{{- fail "settings.clusterName is empty; set it to the label of the LKE cluster" -}}
{{- else if $v.settings.clusterEndpoint -}}
{{- fail "settings.clusterEndpoint is only for settings.mode=instance, because LKE joins its nodes itself; remove it" -}}
{{- end -}}
{{- range $v.controller.env -}}
{{- if and (eq .name "KARPENTER_MODE") (ne (toString .value) ($v.settings.mode | default "lke")) -}}
{{- fail "controller.env sets KARPENTER_MODE; remove it and set settings.mode, which also selects the roles" -}}
{{- end -}}
{{- end -}}
{{- if not (include "lkeplan.repository" .) -}}
{{- fail "no image is published yet; build one with make image, push it, and set controller.image.repository" -}}
{{- end -}}
{{- if and $v.apiToken $v.existingSecret -}}
{{- fail "apiToken and existingSecret are both set; remove one" -}}
{{- end -}}
{{- if and (not $v.serviceAccount.create) (not $v.serviceAccount.name) -}}
{{- fail "serviceAccount.create is false; set serviceAccount.name to an existing account" -}}
{{- end -}}
{{- if and $v.gitops.enabled $v.gitops.separate -}}
{{- if eq (include "lkeplan.controllerAccount" .) "lkeplan-gitops" -}}
{{- fail "serviceAccount.name is lkeplan-gitops, the account of the GitOps controller, which must not have the rights of the capacity controller; choose another name" -}}
{{- end -}}
{{- end -}}
{{- if and $v.tenants (not $v.gitops.enabled) -}}
{{- fail "tenants are namespaces of NodePlans, and gitops.enabled is false; enable it or remove tenants" -}}
{{- end -}}
{{- range $v.tenants -}}
{{- if eq .namespace $.Release.Namespace -}}
{{- fail (printf "tenants has the namespace %s, which is the namespace of lkeplan; choose another: a NodePlan in it could read the Secret with the Linode API token" .namespace) -}}
{{- end -}}
{{- end -}}
{{- if and $v.policies.nodeAdmission (semverCompare "<1.36.0-0" .Capabilities.KubeVersion.Version) -}}
{{- fail (printf "policies.nodeAdmission requires Kubernetes 1.36, and this is %s; remove it: the controller then adds the taint a moment later" .Capabilities.KubeVersion.Version) -}}
{{- end -}}
{{- include "lkeplan.checkDuplicates" . -}}
{{- include "lkeplan.checkFlags" . -}}
{{- include "lkeplan.checkMetadata" . -}}
{{- include "lkeplan.checkPods" . -}}
{{- include "lkeplan.checkRules" . -}}
{{- end }}

{{/*
Refuses values that would make a key or the name of a list entry appear twice. The API server refuses such an
object only when other objects of the release have been applied.
*/}}
{{- define "lkeplan.checkDuplicates" -}}
{{- $v := .Values -}}
{{- $instances := include "lkeplan.instances" . -}}
{{- $set := dict "CLUSTER_NAME" "settings.clusterName" "LINODE_TOKEN" "existingSecret" "LINODE_URL" "apiURL" "METRICS_PORT" "controller.metrics.port"
  "HEALTH_PROBE_PORT" "controller.healthProbe.port" "LOG_LEVEL" "logLevel" "FEATURE_GATES" "settings.featureGates"
  "BATCH_IDLE_DURATION" "settings.batchIdleDuration" "BATCH_MAX_DURATION" "settings.batchMaxDuration" -}}
{{- if $v.region }}{{ $_ := set $set "LINODE_REGION" "region" }}{{ end -}}
{{- if $v.settings.clusterID }}{{ $_ := set $set "LKE_CLUSTER_ID" "settings.clusterID" }}{{ end -}}
{{- if $instances }}{{ $_ := set $set "KARPENTER_MODE" "settings.mode" }}{{ end -}}
{{- if and $instances $v.settings.clusterEndpoint }}{{ $_ := set $set "CLUSTER_ENDPOINT" "settings.clusterEndpoint" }}{{ end -}}
{{- range $v.controller.env -}}
{{- $name := .name -}}
{{- with get $set .name -}}
{{- fail (printf "controller.env sets %s, which the chart sets; remove it and set %s" $name .) -}}
{{- end -}}
{{- end -}}
{{- if eq (int $v.controller.metrics.port) (int $v.controller.healthProbe.port) -}}
{{- fail (printf "controller.metrics.port and controller.healthProbe.port are both %d; change one" (int $v.controller.metrics.port)) -}}
{{- end -}}
{{- include "lkeplan.unique" (list "controller.env" "name" $v.controller.env list) -}}
{{- include "lkeplan.unique" (list "controller.extraVolumeMounts" "mountPath" $v.controller.extraVolumeMounts (list "/tmp")) -}}
{{- include "lkeplan.unique" (list "extraVolumes" "name" $v.extraVolumes (list "tmp")) -}}
{{- include "lkeplan.unique" (list "imagePullSecrets" "name" $v.imagePullSecrets list) -}}
{{- include "lkeplan.unique" (list "tenants" "namespace" $v.tenants list) -}}
{{- $spread := list -}}
{{- range $v.topologySpreadConstraints -}}
{{- $pair := printf "%v, %v" .topologyKey .whenUnsatisfiable -}}
{{- if has $pair $spread -}}
{{- fail (printf "topologySpreadConstraints has two constraints with the same topologyKey and whenUnsatisfiable: %s; remove one" $pair) -}}
{{- end -}}
{{- $spread = append $spread $pair -}}
{{- end -}}
{{- range $name := list "additionalLabels" "podLabels" -}}
{{- if hasKey (get $v $name) "app.kubernetes.io/name" -}}
{{- fail (printf "%s sets app.kubernetes.io/name, by which the Deployments select their pods; remove it" $name) -}}
{{- end -}}
{{- end -}}
{{- if hasKey $v.podAnnotations "lkeplan.dev/token" -}}
{{- fail "podAnnotations sets lkeplan.dev/token, which the chart sets; remove it" -}}
{{- end -}}
{{- end }}

{{/* Refuses additional flags that contradict values. Probes and Services use the values. */}}
{{- define "lkeplan.checkFlags" -}}
{{- $set := dict "log-level" "logLevel" "log-format" "logFormat" "linode-url" "apiURL"
  "metrics-bind-address" "controller.metrics.port" "health-probe-bind-address" "controller.healthProbe.port"
  "batch-idle-duration" "settings.batchIdleDuration" "batch-max-duration" "settings.batchMaxDuration"
  "max-replacements" "settings.maxReplacements" "feature-gates" "settings.featureGates" "mode" "settings.mode"
  "cluster-name" "settings.clusterName" "cluster-id" "settings.clusterID" "cluster-endpoint" "settings.clusterEndpoint"
  "region" "region" "node-admission-params" "policies.nodeAdmission" "only" "gitops.separate"
  "default-service-account" "gitops.defaultServiceAccount" "no-cross-namespace-refs" "gitops.crossNamespaceRefs"
  "events-addr" "gitops.eventsAddr" "concurrent" "gitops.concurrent" -}}
{{- range $part := list "controller" "gitops" -}}
{{- range (get $.Values $part).extraArgs -}}
{{- $flag := regexFind "^--[a-z-]+" . -}}
{{- with get $set (trimPrefix "--" $flag) -}}
{{- fail (printf "%s.extraArgs sets %s, which the chart sets; remove it and set %s" $part $flag .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* Refuses keys of labels and annotations that the API server refuses. The schema checks the values of labels. */}}
{{- define "lkeplan.checkMetadata" -}}
{{- $v := .Values -}}
{{- range $name, $keys := dict "additionalLabels" $v.additionalLabels "podLabels" $v.podLabels "nodeSelector" $v.nodeSelector
  "additionalAnnotations" $v.additionalAnnotations "podAnnotations" $v.podAnnotations
  "serviceAccount.annotations" $v.serviceAccount.annotations "serviceMonitor.additionalLabels" $v.serviceMonitor.additionalLabels
  "prometheusRule.additionalLabels" $v.prometheusRule.additionalLabels "dashboards.additionalLabels" $v.dashboards.additionalLabels -}}
{{- range $key, $_ := $keys -}}
{{- $tested := contains "nnotations" $name | ternary (lower $key) $key -}}
{{- if not (regexMatch "^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$" $tested) -}}
{{- fail (printf "%s has the key %q; write at most 63 letters, digits, dashes, dots and underscores, after a domain and a slash if you like, such as example.com/team" $name $key) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* Refuses settings of pods that contradict one another. */}}
{{- define "lkeplan.checkPods" -}}
{{- $v := .Values -}}
{{- range $i, $t := $v.tolerations -}}
{{- if and (eq (toString .operator) "Exists") .value -}}
{{- fail (printf "tolerations[%d] has the operator Exists and the value %q; remove one of them" $i .value) -}}
{{- end -}}
{{- if and (not .key) (ne (toString .operator) "Exists") -}}
{{- fail (printf "tolerations[%d] has no key; set key, or the operator Exists" $i) -}}
{{- end -}}
{{- if and (not (kindIs "invalid" .tolerationSeconds)) (ne (toString .effect) "NoExecute") -}}
{{- fail (printf "tolerations[%d] has tolerationSeconds; set effect to NoExecute or remove it" $i) -}}
{{- end -}}
{{- end -}}
{{- range $i, $t := $v.topologySpreadConstraints -}}
{{- if and .minDomains (ne .whenUnsatisfiable "DoNotSchedule") -}}
{{- fail (printf "topologySpreadConstraints[%d] has minDomains; set whenUnsatisfiable to DoNotSchedule or remove it" $i) -}}
{{- end -}}
{{- end -}}
{{- $volumes := list "tmp" -}}
{{- range $i, $volume := $v.extraVolumes -}}
{{- $volumes = append $volumes .name -}}
{{- $types := omit . "name" | keys | sortAlpha -}}
{{- if gt (len $types) 1 -}}
{{- fail (printf "extraVolumes[%d] has %d types: %s; keep one" $i (len $types) (join ", " $types)) -}}
{{- end -}}
{{- end -}}
{{- include "lkeplan.checkContainer" (list "controller" $volumes $v.controller) -}}
{{- include "lkeplan.checkContainer" (list "gitops" $volumes (dict "resources" $v.gitops.resources)) -}}
{{- end }}

{{/* Refuses settings of a container that contradict one another: its name, the volumes, the container. */}}
{{- define "lkeplan.checkContainer" -}}
{{- $name := index . 0 -}}
{{- $volumes := index . 1 -}}
{{- with index . 2 -}}
{{- range .env -}}
{{- if and .value .valueFrom -}}
{{- fail (printf "%s.env sets %s by value and by valueFrom; remove one of them" $name .name) -}}
{{- end -}}
{{- if and (kindIs "map" .valueFrom) (ne (len .valueFrom) 1) -}}
{{- fail (printf "%s.env has %d sources in valueFrom of %s; set one, such as secretKeyRef" $name (len .valueFrom) .name) -}}
{{- end -}}
{{- end -}}
{{- range $i, $source := .envFrom -}}
{{- if and .secretRef .configMapRef -}}
{{- fail (printf "%s.envFrom[%d] has secretRef and configMapRef; write two entries" $name $i) -}}
{{- end -}}
{{- end -}}
{{- range .extraVolumeMounts -}}
{{- if not (has .name $volumes) -}}
{{- fail (printf "%s.extraVolumeMounts names the volume %q, which is not in extraVolumes; add it" $name .name) -}}
{{- end -}}
{{- end -}}
{{- $resources := .resources | default dict -}}
{{- $limits := $resources.limits | default dict -}}
{{- range $resource, $request := $resources.requests -}}
{{- if hasKey $limits $resource -}}
{{- $limit := get $limits $resource -}}
{{- if gt (include "lkeplan.amount" $request | float64) (include "lkeplan.amount" $limit | float64) -}}
{{- fail (printf "%s.resources requests %s %v with a limit of %v; raise the limit or lower the request" $name $resource $request $limit) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* The number that a quantity of Kubernetes stands for. */}}
{{- define "lkeplan.amount" -}}
{{- $suffix := regexFind "([KMGTPE]i|[numkMGTPE])$" (toString .) -}}
{{- $factors := dict "" 1 "n" 1e-9 "u" 1e-6 "m" 1e-3 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18
  "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 "Pi" 1125899906842624 "Ei" 1152921504606846976 -}}
{{ mulf (toString . | trimSuffix $suffix | float64) (get $factors $suffix) }}
{{- end }}

{{/* Refuses rules that the API server refuses, because they have fields that exclude one another. */}}
{{- define "lkeplan.checkRules" -}}
{{- $peers := dict "networkPolicy.metricsFrom" .Values.networkPolicy.metricsFrom -}}
{{- range $i, $rule := .Values.networkPolicy.egress -}}
{{- $_ := set $peers (printf "networkPolicy.egress[%d].to" $i) (.to | default list) -}}
{{- range $j, $port := .ports -}}
{{- if and .endPort (or (kindIs "string" .port) (lt (int .endPort) (int .port))) -}}
{{- fail (printf "networkPolicy.egress[%d].ports[%d] has the endPort %d; set port to a number that is not larger" $i $j (int .endPort)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $name, $list := $peers -}}
{{- range $i, $peer := $list -}}
{{- if not . -}}
{{- fail (printf "%s[%d] is empty; set podSelector, namespaceSelector or ipBlock" $name $i) -}}
{{- end -}}
{{- if and .ipBlock (or (hasKey . "podSelector") (hasKey . "namespaceSelector")) -}}
{{- fail (printf "%s[%d] has ipBlock and a selector; write two peers" $name $i) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/*
Refuses a text of extraObjects that is not an object, or that is an object which the release already has. Takes a dictionary:
root, name (of the entry), text, owner (what the message says of an object that is there), and seen (the objects so far).
*/}}
{{- define "lkeplan.checkObjects" -}}
{{- range regexSplit "(?m)^---.*$" .text -1 -}}
{{- if regexMatch "(?m)^[ ]*[^# \\n]" . -}}
{{- $object := fromYaml . -}}
{{- if hasKey $object "Error" -}}
{{- fail (printf "%s is not an object of Kubernetes; write its apiVersion, kind and metadata.name: %s" $.name $object.Error) -}}
{{- end -}}
{{- $metadata := kindIs "map" $object.metadata | ternary $object.metadata dict -}}
{{- range $field, $value := dict "apiVersion" $object.apiVersion "kind" $object.kind "metadata.name" $metadata.name -}}
{{- if or (not $value) (not (kindIs "string" $value)) -}}
{{- fail (printf "%s has no %s; add it" $.name $field) -}}
{{- end -}}
{{- end -}}
{{- $group := contains "/" $object.apiVersion | ternary (splitList "/" $object.apiVersion | first) "" -}}
{{- $id := printf "%s/%s/%v/%s" $group $object.kind ($metadata.namespace | default $.root.Release.Namespace) $metadata.name -}}
{{- with get $.seen $id -}}
{{- fail (printf "%s is the %s %s, which %s; rename or remove it" $.name $object.kind $metadata.name .) -}}
{{- end -}}
{{- $_ := set $.seen $id $.owner -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* Refuses a list in which a key has a value twice, or one that the chart uses: the list's name, the key, the list, the used values. */}}
{{- define "lkeplan.unique" -}}
{{- $name := index . 0 -}}
{{- $key := index . 1 -}}
{{- $used := index . 3 -}}
{{- $seen := list -}}
{{- range index . 2 -}}
{{- $value := get . $key -}}
{{- if has $value $used -}}
{{- fail (printf "%s has the %s %q, which the chart uses; rename it" $name $key $value) -}}
{{- end -}}
{{- if has $value $seen -}}
{{- fail (printf "%s has the %s %q twice; remove one" $name $key $value) -}}
{{- end -}}
{{- $seen = append $seen $value -}}
{{- end -}}
{{- end }}

{{/* Refuses values that settings.mode=instance does not allow. */}}
{{- define "lkeplan.checkInstances" -}}
{{- $v := .Values -}}
{{- with $v.settings.clusterName -}}
{{- if or (not (regexMatch "^[a-z0-9]+(-[a-z0-9]+)*$" .)) (gt (len .) 34) -}}
{{- fail (printf "settings.clusterName is %q, and with settings.mode=instance the labels of Linodes and the names of nodes start with it; use at most 34 lower-case letters, digits and single dashes" .) -}}
{{- end -}}
{{- else -}}
{{- fail "settings.clusterName is empty; with settings.mode=instance choose a name that no other cluster of the account has" -}}
{{- end -}}
{{- if not $v.region -}}
{{- fail "region is empty; with settings.mode=instance set it to the region of the cluster, such as us-ord" -}}
{{- end -}}
{{- if $v.settings.clusterID -}}
{{- fail "settings.clusterID is the ID of an LKE cluster, and settings.mode=instance is for other clusters; remove one of them" -}}
{{- end -}}
{{- range $v.controller.env -}}
{{- if eq .name "LKE_CLUSTER_ID" -}}
{{- fail "controller.env sets LKE_CLUSTER_ID, the ID of an LKE cluster, and settings.mode=instance is for other clusters; remove one of them" -}}
{{- end -}}
{{- end -}}
{{- with $v.settings.clusterEndpoint -}}
{{- if not (regexMatch "^https://[^/ ]+/?$" .) -}}
{{- fail (printf "settings.clusterEndpoint is %q; it must look like https://10.0.0.2:6443" .) -}}
{{- end -}}
{{- end -}}
{{- if and $v.gitops.enabled (eq (include "lkeplan.controllerAccount" .) (include "lkeplan.gitopsAccount" .)) -}}
{{- fail "with settings.mode=instance gitops.separate must be true, and the two controllers must have different accounts: the account of the capacity controller can read all Secrets of kube-system, and the process that fetches and compiles sources must not" -}}
{{- end -}}
{{- if $v.policies.nodeAdmission -}}
{{- fail "policies.nodeAdmission is for nodes of LKE; remove it: with settings.mode=instance, kubelets register with their taints" -}}
{{- end -}}
{{- end }}
