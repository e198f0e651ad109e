{{/*
Fills in values that are missing: helm upgrade --reuse-values has none of the values that are newer than the release.
Each template includes this first, because Helm does not define the order in which it renders them.
*/}}
{{- define "lkeplan.defaults" -}}
{{- include "lkeplan.fill" (dict "values" .Values "defaults" (.Files.Get "files/defaults.yaml" | fromYaml)) -}}
{{- end }}

{{- define "lkeplan.fill" -}}
{{- range $key, $default := .defaults -}}
{{- $value := get $.values $key -}}
{{- if kindIs "invalid" (index $.values $key) }}{{ $value = $default }}{{ end -}}
{{- $_ := set $.values $key $value -}}
{{- if and $default (kindIs "map" $default) }}{{ include "lkeplan.fill" (dict "values" $value "defaults" $default) }}{{ end -}}
{{- end -}}
{{- end }}

{{/* Not empty with settings.mode=instance. */}}
{{- define "lkeplan.instances" -}}
{{ if eq .Values.settings.mode "instance" }}true{{ end }}
{{- end }}

{{/* The account of the capacity controller. */}}
{{- define "lkeplan.controllerAccount" -}}
{{ .Values.serviceAccount.name | default "lkeplan-controller" }}
{{- end }}

{{/* The account of the GitOps controller. */}}
{{- define "lkeplan.gitopsAccount" -}}
{{ ternary "lkeplan-gitops" (include "lkeplan.controllerAccount" .) .Values.gitops.separate }}
{{- end }}

{{/* The Secret with the Linode API token. */}}
{{- define "lkeplan.secret" -}}
{{ .Values.existingSecret | default "linode" }}
{{- end }}

{{/* The image's repository, empty if there is none: a release writes its own into Chart.yaml. */}}
{{- define "lkeplan.repository" -}}
{{- $repository := .Values.controller.image.repository | default (index .Chart.Annotations "lkeplan.dev/image") -}}
{{- with .Values.global.imageRegistry -}}
{{- $host := splitList "/" $repository | first -}}
{{- if or (contains "." $host) (contains ":" $host) (eq $host "localhost") }}{{ $repository = trimPrefix (printf "%s/" $host) $repository }}{{ end -}}
{{- if $repository }}{{ $repository = printf "%s/%s" (trimSuffix "/" .) $repository }}{{ end -}}
{{- end -}}
{{ $repository }}
{{- end }}

{{- define "lkeplan.image" -}}
{{ include "lkeplan.repository" . }}
{{- with .Values.controller.image -}}
{{ with .digest }}@{{ . }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end }}

{{/* Labels of a part, given as a dictionary of root, part and more: maps of labels, of which later ones take precedence. */}}
{{- define "lkeplan.labels" -}}
{{- $labels := dict "app.kubernetes.io/name" .part "app.kubernetes.io/part-of" "lkeplan" "app.kubernetes.io/version" .root.Chart.AppVersion -}}
{{- range prepend (.more | default list) .root.Values.additionalLabels -}}
{{- range $key, $value := . }}{{ $_ := set $labels $key $value }}{{ end -}}
{{- end -}}
{{ toYaml $labels }}
{{- end }}

{{/* Topology spread constraints of a part: one without labelSelector selects the pods of the part. */}}
{{- define "lkeplan.selecting" -}}
{{- $own := dict "matchLabels" (dict "app.kubernetes.io/name" .part) -}}
{{- $terms := list -}}
{{- range .terms -}}
{{- $terms = append $terms (hasKey . "labelSelector" | ternary . (merge (dict "labelSelector" $own) .)) -}}
{{- end -}}
{{ toYaml $terms }}
{{- end }}

{{/* Environment of a part: only the part with the token gets variables from Secrets, which can hold a token. */}}
{{- define "lkeplan.env" -}}
{{- $terms := list -}}
{{- range .terms -}}
{{- $secret := or .secretRef (and .valueFrom .valueFrom.secretKeyRef) -}}
{{- if or $.token (not $secret) }}{{ $terms = append $terms . }}{{ end -}}
{{- end -}}
{{ with $terms }}{{ toYaml . }}{{ end }}
{{- end }}
