{{/* What the schema cannot say. Each message says what to do. */}}
{{- define "lkeplan.check" -}}
{{- $v := .Values -}}
{{- if not $v.settings.clusterName -}}
{{- fail "settings.clusterName is empty; set it to the label of the LKE cluster" -}}
{{- end -}}
{{- if not (has $v.settings.mode (list "" "lke")) -}}
{{- fail (printf "settings.mode is %q; lkeplan makes nodes of LKE clusters only: set it to lke, or leave it out" $v.settings.mode) -}}
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

{{/* Settings of karpenter-provider-linode's chart that have no effect, among those that were given: a JSON list. */}}
{{- define "lkeplan.withoutEffect" -}}
{{- $names := list -}}
{{- range $name := list "apiVersion" "linodeDebug" "nameOverride" "fullnameOverride" "webhook" "logOutputPaths" "logErrorOutputPaths" -}}
{{- if hasKey $.Values $name }}{{ $names = append $names $name }}{{ end -}}
{{- end -}}
{{- range $name := list "clusterCABundle" "clusterEndpoint" "vmMemoryOverheadPercent" "tags" "lkeCreateDeadline" "lkeTagVerificationTimeout" "lkeRetryDelay" -}}
{{- if hasKey $.Values.settings $name }}{{ $names = append $names (printf "settings.%s" $name) }}{{ end -}}
{{- end -}}
{{- if hasKey .Values.controller "sidecarVolumeMounts" }}{{ $names = append $names "controller.sidecarVolumeMounts" }}{{ end -}}
{{- if and .Values.apiToken (or .Values.existingSecret .Values.credentialsSecretRef) }}{{ $names = append $names "apiToken, as there is a Secret," }}{{ end -}}
{{ toJson $names }}
{{- end }}
