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
