{{/* The environment of a worker: (dict "root" $ "own" its values "queue" its name) */}}
{{- define "memshare.workerEnv" -}}
{{- $values := .root.Values -}}
{{ include "memshare.memberEnv" .root }}
{{- if eq .queue "memory" }}
- {name: MEMSHARE_MEMORY_LISTEN, value: "0.0.0.0:8077"}
{{- end }}
{{- if include "memshare.hasPool" .queue }}
- name: MEMSHARE_QDRANT_URL
  value: {{ $values.qdrant.enabled | ternary (printf "http://%s-qdrant:6333" (include "memshare.name" .root)) $values.qdrant.url }}
{{- if $values.qdrant.secret.name }}
- name: MEMSHARE_QDRANT_API_KEY
  valueFrom:
    secretKeyRef: {{ $values.qdrant.secret | toJson }}
{{- end }}
{{- if $values.encoders.claim }}
- {name: MEMSHARE_ENCODERS, value: /encoders}
- {name: MEMSHARE_EXPORTS, value: /encoders/exports}
{{- end }}
{{- end }}
- {name: MEMSHARE_DATA, value: /data}
- {name: MEMSHARE_HEARTBEAT, value: /tmp/heartbeat}
- {name: MEMSHARE_GRACE, value: {{ $values.grace | quote }}}
{{- if $values.metrics.enabled }}
- {name: MEMSHARE_METRICS_PORT, value: "9465"}
{{- end }}
{{- with include "memshare.modelsEnv" .root }}{{ . | nindent 0 }}{{ end }}
{{- with include "memshare.agentsEnv" .root }}{{ . | nindent 0 }}{{ end }}
{{- if and $values.documents.claim (has .queue $values.documents.agents) }}
- {name: MEMSHARE_DOCUMENTS, value: /documents}
{{- end }}
{{- if include "memshare.redisTls" .root }}
- {name: REDIS_TLS, value: enable} # for KEDA, which reads it from here
{{- end }}
{{- include "memshare.settingsEnv" .root }}
{{- range $name, $value := merge (deepCopy .own.env) $values.env }}
- {name: {{ $name }}, value: {{ include "memshare.text" $value | quote }}}
{{- end }}
{{- end }}

{{/* A setting as text. Helm reads every number as a float, which toString would show as 2e+06. */}}
{{- define "memshare.text" -}}
{{ kindIs "string" . | ternary . (toJson .) }}
{{- end }}

{{/*
The probes of a queue's worker. It touches its heartbeat file every 5 s while it takes tasks and Redis knows of it; the
memory service is ready when it answers, also while Redis is away.
*/}}
{{- define "memshare.workerProbes" -}}
startupProbe: # a memory service may export its encoder first
  exec: {command: {{ include "memshare.heartbeat" 30 }}}
  periodSeconds: 5
  failureThreshold: 120
readinessProbe:
  {{- if eq . "memory" }}
  httpGet: {path: /health, port: door}
  {{- else }}
  exec: {command: {{ include "memshare.heartbeat" 30 }}}
  {{- end }}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 1
# Every heartbeat stops while Redis is away, and no restart would bring it back: a worker gets five minutes.
livenessProbe:
  exec: {command: {{ include "memshare.heartbeat" 300 }}}
  periodSeconds: 30
  timeoutSeconds: 5
  failureThreshold: 2
{{- end }}

{{- define "memshare.heartbeat" -}}
[sh, -c, 'test $(( $(date +%s) - $(stat -c %Y /tmp/heartbeat) )) -lt {{ . }}']
{{- end }}
