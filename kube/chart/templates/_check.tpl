{{/* Refuses values that the schema cannot refuse. Each message says what to do. */}}
{{- define "lkeplan.check" -}}
{{- include "lkeplan.defaults" . -}}
{{- $v := .Values -}}
{{- $instances := include "lkeplan.instances" . -}}
{{- if $instances -}}
{{- include "lkeplan.checkInstances" . -}}
{{- else if not $v.settings.clusterName -}}
{{- fail "settings.clusterName is empty; set it to the label of the LKE cluster" -}}
{{- end -}}
{{- range $v.controller.env -}}
{{- if and (eq .name "KARPENTER_MODE") (ne (toString .value) ($v.settings.mode | default "lke")) -}}
{{- fail "controller.env sets KARPENTER_MODE; remove it and set settings.mode, which also selects the roles" -}}
{{- end -}}
{{- end -}}
{{- include "lkeplan.checkImage" . -}}
{{- if and $v.existingSecret $v.credentialsSecretRef (ne $v.existingSecret $v.credentialsSecretRef) -}}
{{- fail "existingSecret and credentialsSecretRef name different Secrets; remove one" -}}
{{- end -}}
{{- if and (not $v.serviceAccount.create) (not $v.serviceAccount.name) -}}
{{- fail "serviceAccount.create is false; set serviceAccount.name to an existing account" -}}
{{- end -}}
{{- if and $v.gitops.enabled $v.gitops.separate -}}
{{- if eq (include "lkeplan.controllerAccount" .) "lkeplan-gitops" -}}
{{- fail "serviceAccount.name is lkeplan-gitops, the account of the GitOps controller, which must not have the rights of the capacity controller; choose another name" -}}
{{- end -}}
{{- if eq $v.podDisruptionBudget.name "lkeplan-gitops" -}}
{{- fail "podDisruptionBudget.name is lkeplan-gitops, the name of the GitOps controller's PodDisruptionBudget; choose another name" -}}
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
{{- end }}

{{/* Refuses an image that does not exist, or that is of another program. */}}
{{- define "lkeplan.checkImage" -}}
{{- with .Values.controller.image -}}
{{- if not (include "lkeplan.repository" $) -}}
{{- fail "no image is published yet; build one with make image, push it, and set controller.image.repository" -}}
{{- end -}}
{{- if hasSuffix "karpenter-provider-linode" .repository -}}
{{- fail (printf "controller.image.repository is %s, which is another program; set it to an image of lkeplan" .repository) -}}
{{- end -}}
{{- if and (eq .tag "latest") (not .digest) -}}
{{- fail "controller.image.tag is latest, the default of another program; remove it, or set it to a release of lkeplan" -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/*
Refuses values that would make a key or the name of a list entry appear twice. The API server refuses such an
object only when other objects of the release have been applied.
*/}}
{{- define "lkeplan.checkDuplicates" -}}
{{- $v := .Values -}}
{{- $instances := include "lkeplan.instances" . -}}
{{- $set := dict "CLUSTER_NAME" "settings.clusterName" "LINODE_TOKEN" "existingSecret" "LINODE_URL" "apiURL" -}}
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
{{- include "lkeplan.unique" (list "controller.sidecarContainer" "name" $v.controller.sidecarContainer (list "controller" "gitops")) -}}
{{- include "lkeplan.unique" (list "controller.extraVolumeMounts" "mountPath" $v.controller.extraVolumeMounts (list "/tmp")) -}}
{{- include "lkeplan.unique" (list "extraVolumes" "name" $v.extraVolumes (list "tmp")) -}}
{{- include "lkeplan.unique" (list "imagePullSecrets" "name" $v.imagePullSecrets list) -}}
{{- include "lkeplan.unique" (list "tenants" "namespace" $v.tenants list) -}}
{{- $volumes := list "tmp" -}}
{{- range $v.extraVolumes }}{{ $volumes = append $volumes .name }}{{ end -}}
{{- range $v.controller.extraVolumeMounts -}}
{{- if not (has .name $volumes) -}}
{{- fail (printf "controller.extraVolumeMounts names the volume %q, which is not in extraVolumes; add it" .name) -}}
{{- end -}}
{{- end -}}
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

{{/* The given settings of karpenter-provider-linode's chart that have no effect, as a JSON list. */}}
{{- define "lkeplan.withoutEffect" -}}
{{- $names := list -}}
{{- range $name := list "apiVersion" "linodeDebug" "nameOverride" "fullnameOverride" "webhook" "logOutputPaths" "logErrorOutputPaths" -}}
{{- if hasKey $.Values $name }}{{ $names = append $names $name }}{{ end -}}
{{- end -}}
{{- range $name := list "clusterCABundle" "vmMemoryOverheadPercent" "tags" "lkeCreateDeadline" "lkeTagVerificationTimeout" "lkeRetryDelay" -}}
{{- if hasKey $.Values.settings $name }}{{ $names = append $names (printf "settings.%s" $name) }}{{ end -}}
{{- end -}}
{{- if and .Values.settings.clusterEndpoint (not (include "lkeplan.instances" .)) }}{{ $names = append $names "settings.clusterEndpoint" }}{{ end -}}
{{- if hasKey .Values.controller "sidecarVolumeMounts" }}{{ $names = append $names "controller.sidecarVolumeMounts" }}{{ end -}}
{{- if and .Values.apiToken (or .Values.existingSecret .Values.credentialsSecretRef) }}{{ $names = append $names "apiToken (a Secret is given)" }}{{ end -}}
{{ toJson $names }}
{{- end }}
