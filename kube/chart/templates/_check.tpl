{{/* What the schema cannot say. Each message says what to do. */}}
{{- define "lkeplan.check" -}}
{{- $v := .Values -}}
{{- if include "lkeplan.instances" . -}}
{{- include "lkeplan.checkInstances" . -}}
{{- else if not $v.settings.clusterName -}}
{{- fail "settings.clusterName is empty; set it to the label of the LKE cluster" -}}
{{- end -}}
{{- range $v.controller.env -}}
{{- if and (eq (toString .name) "KARPENTER_MODE") (ne (toString .value) ($v.settings.mode | default "lke")) -}}
{{- fail "controller.env has KARPENTER_MODE; take it out, and set settings.mode: the roles follow it" -}}
{{- end -}}
{{- end -}}
{{- if hasSuffix "karpenter-provider-linode" $v.controller.image.repository -}}
{{- fail (printf "controller.image.repository is %s, another program; leave it out, or name an image of lkeplan" $v.controller.image.repository) -}}
{{- end -}}
{{- if and (eq $v.controller.image.tag "latest") (not $v.controller.image.digest) -}}
{{- fail "controller.image.tag is latest, another program's default; leave it out, or name a release of lkeplan" -}}
{{- end -}}
{{- if and $v.existingSecret $v.credentialsSecretRef (ne $v.existingSecret $v.credentialsSecretRef) -}}
{{- fail "existingSecret and credentialsSecretRef name two Secrets; leave one of them out" -}}
{{- end -}}
{{- if and (not $v.serviceAccount.create) (not $v.serviceAccount.name) -}}
{{- fail "serviceAccount.create is false; set serviceAccount.name to the account to use" -}}
{{- end -}}
{{- if and $v.tenants (not $v.gitops.enabled) -}}
{{- fail "tenants need gitops.enabled: they are namespaces of NodePlans" -}}
{{- end -}}
{{- range $v.tenants -}}
{{- if eq .namespace $.Release.Namespace -}}
{{- fail (printf "tenants: the namespace %s is that of lkeplan; take another: a NodePlan there could name the Secret with the Linode API token" .namespace) -}}
{{- end -}}
{{- end -}}
{{- if and $v.policies.nodeAdmission (semverCompare "<1.36.0-0" .Capabilities.KubeVersion.Version) -}}
{{- fail (printf "policies.nodeAdmission needs Kubernetes 1.36, and this is %s; leave it out: the controller taints Nodes a moment later" .Capabilities.KubeVersion.Version) -}}
{{- end -}}
{{- end }}

{{/* What is wrong with settings.mode=instance. */}}
{{- define "lkeplan.checkInstances" -}}
{{- $v := .Values -}}
{{- with $v.settings.clusterName -}}
{{- if or (not (regexMatch "^[a-z0-9]+(-[a-z0-9]+)*$" .)) (gt (len .) 34) -}}
{{- fail (printf "settings.clusterName is %q, and with settings.mode=instance labels of Linodes and names of nodes begin with it: use at most 34 lower-case letters, digits and single dashes" .) -}}
{{- end -}}
{{- else -}}
{{- fail "settings.clusterName is empty; with settings.mode=instance choose a name for the cluster that no other of the account has" -}}
{{- end -}}
{{- if not $v.region -}}
{{- fail "region is empty; with settings.mode=instance set it to the region that the cluster is in, such as us-ord" -}}
{{- end -}}
{{- if $v.settings.clusterID -}}
{{- fail "settings.clusterID is the number of an LKE cluster, and settings.mode=instance is for other clusters; leave one of the two out" -}}
{{- end -}}
{{- range $v.controller.env -}}
{{- if eq (toString .name) "LKE_CLUSTER_ID" -}}
{{- fail "controller.env has LKE_CLUSTER_ID, the number of an LKE cluster, and settings.mode=instance is for other clusters; leave one of the two out" -}}
{{- end -}}
{{- end -}}
{{- with $v.settings.clusterEndpoint -}}
{{- if not (regexMatch "^https://[^/ ]+/?$" .) -}}
{{- fail (printf "settings.clusterEndpoint is %q; it must be such as https://10.0.0.2:6443" .) -}}
{{- end -}}
{{- end -}}
{{- if and $v.gitops.enabled (eq (include "lkeplan.controllerAccount" .) (include "lkeplan.gitopsAccount" .)) -}}
{{- fail "gitops.separate must be true with settings.mode=instance, with an account of its own: that of the process that makes nodes may read all Secrets of kube-system, and what fetches and compiles sources must not" -}}
{{- end -}}
{{- if $v.policies.nodeAdmission -}}
{{- fail "policies.nodeAdmission is for nodes of LKE; with settings.mode=instance leave it out: kubelets register with their taints" -}}
{{- end -}}
{{- end }}

{{/* Settings of karpenter-provider-linode's chart that have no effect, among those that were given: a JSON list. */}}
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
{{- if and .Values.apiToken (or .Values.existingSecret .Values.credentialsSecretRef) }}{{ $names = append $names "apiToken, as there is a Secret," }}{{ end -}}
{{ toJson $names }}
{{- end }}
