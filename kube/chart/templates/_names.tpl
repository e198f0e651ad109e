{{/* Not empty where machines are made as Linodes of their own: settings.mode=instance. */}}
{{- define "lkeplan.instances" -}}
{{ if eq .Values.settings.mode "instance" }}true{{ end }}
{{- end }}

{{/* The account of the process that makes nodes. */}}
{{- define "lkeplan.controllerAccount" -}}
{{ .Values.serviceAccount.name | default "lkeplan-controller" }}
{{- end }}

{{/* The account of the process that reconciles NodePlans. */}}
{{- define "lkeplan.gitopsAccount" -}}
{{ ternary "lkeplan-gitops" (include "lkeplan.controllerAccount" .) .Values.gitops.separate }}
{{- end }}

{{/* The Secret with the Linode API token. */}}
{{- define "lkeplan.secret" -}}
{{ coalesce .Values.existingSecret .Values.credentialsSecretRef "linode" }}
{{- end }}

{{- define "lkeplan.image" -}}
{{- with .Values.controller.image -}}
{{ .repository }}{{ with .digest }}@{{ . }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end }}

{{/* Labels of a part, given as a dictionary of root and part. */}}
{{- define "lkeplan.labels" -}}
app.kubernetes.io/name: {{ .part }}
app.kubernetes.io/part-of: lkeplan
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
{{- with .root.Values.additionalLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* What selects the pods of a part, for terms that select none themselves. */}}
{{- define "lkeplan.selecting" -}}
{{- $own := dict "matchLabels" (dict "app.kubernetes.io/name" .part) -}}
{{- $terms := list -}}
{{- range .terms -}}
{{- $terms = append $terms (hasKey . "labelSelector" | ternary . (merge (dict "labelSelector" $own) .)) -}}
{{- end -}}
{{ toYaml $terms }}
{{- end }}

{{/* Environment of a part: what is of a Secret, as a token may be, has only the part with the token. */}}
{{- define "lkeplan.env" -}}
{{- $terms := list -}}
{{- range .terms -}}
{{- $secret := or .secretRef (and .valueFrom .valueFrom.secretKeyRef) (eq (toString .name) "LINODE_TOKEN") -}}
{{- if or $.token (not $secret) }}{{ $terms = append $terms . }}{{ end -}}
{{- end -}}
{{ with $terms }}{{ toYaml . }}{{ end }}
{{- end }}

{{/* Affinity of a part: a term of podAntiAffinity that selects no pods is for those of the part. */}}
{{- define "lkeplan.affinity" -}}
{{- $affinity := deepCopy .affinity -}}
{{- $own := dict "matchLabels" (dict "app.kubernetes.io/name" .part) -}}
{{- with $affinity.podAntiAffinity -}}
{{- range .requiredDuringSchedulingIgnoredDuringExecution -}}
{{- if not .labelSelector }}{{ $_ := set . "labelSelector" $own }}{{ end -}}
{{- end -}}
{{- range .preferredDuringSchedulingIgnoredDuringExecution -}}
{{- with .podAffinityTerm }}{{ if not .labelSelector }}{{ $_ := set . "labelSelector" $own }}{{ end }}{{ end -}}
{{- end -}}
{{- end -}}
{{ toYaml $affinity }}
{{- end }}
