{{- define "memshare.name" -}}
{{- if contains "memshare" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-memshare" (.Release.Name | trunc 31 | trimSuffix "-") }}{{ end }}
{{- end }}

{{/* Labels that select pods: (dict "root" $ "part" "worker") */}}
{{- define "memshare.selector" -}}
app.kubernetes.io/name: memshare
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- with .queue }}
memshare/queue: {{ . }}
{{- end }}
{{- end }}

{{- define "memshare.labels" -}}
{{ include "memshare.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{/*
Every queue with what its worker has: its own entry over `worker`. A name with _ becomes one with - elsewhere.
A consolidation runs in the trainer's pod and needs no open message, so KEDA must not take that pod away.
*/}}
{{- define "memshare.queues" -}}
{{- $worker := .Values.worker }}
{{- $claim := .Values.encoders.claim }}
{{- $names := dict }}
{{- range $queues := list .Values.agents .Values.stages }}
{{- range $queue, $own := $queues }}
{{- if kindIs "map" $own }}
{{- $name := $queue | replace "_" "-" }}
{{- with get $names $name }}{{ fail (printf "agents %s and %s would both be called %s: rename one" . $queue $name) }}{{ end }}
{{- $_ := set $names $name $queue }}
{{- $stays := and (ne $claim "") (eq $queue "trainer") | ternary (dict "minReplicas" 1) dict }}
{{ $queue }}: {{ mergeOverwrite (deepCopy $worker) (deepCopy $own) $stays | toJson }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "memshare.workerName" -}}
{{ include "memshare.name" .root }}-{{ .queue | replace "_" "-" }}
{{- end }}

{{- define "memshare.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* The image of a queue's worker: the memory service's has the encoder, the trainer's torch as well. */}}
{{- define "memshare.workerImage" -}}
{{- $image := .root.Values.image }}
{{- $tag := $image.tag | default .root.Chart.AppVersion }}
{{- if eq .queue "memory" }}{{ $tag = $image.memoryTag | default (printf "%s-memory" $tag) }}
{{- else if eq .queue "trainer" }}{{ $tag = $image.fullTag | default (printf "%s-full" $tag) }}{{ end -}}
{{ $image.repository }}:{{ $tag }}
{{- end }}

{{/* Whether a queue's worker has encoder and pool, and so a way to Qdrant. */}}
{{- define "memshare.hasPool" -}}
{{- if has . (list "memory" "trainer") }}yes{{ end }}
{{- end }}

{{/* The Secret with the memory service's token, as a secretKeyRef. */}}
{{- define "memshare.memorySecret" -}}
{{- $secret := .Values.memoryService.secret -}}
{{ dict "name" ($secret.name | default (printf "%s-memory" (include "memshare.name" .))) "key" $secret.key | toJson }}
{{- end }}

{{/* The Secret by which workers know each other's messages, as a secretKeyRef. */}}
{{- define "memshare.signingSecret" -}}
{{- $secret := .Values.signing.secret -}}
{{ dict "name" ($secret.name | default (printf "%s-signing" (include "memshare.name" .))) "key" $secret.key | toJson }}
{{- end }}

{{/* The password is put in by Kubernetes, so that it stands in no manifest. */}}
{{- define "memshare.redisUrl" -}}
{{- $external := .Values.redis.external -}}
{{- $login := printf "%s:$(REDIS_PASSWORD)@" (.Values.redis.enabled | ternary "" $external.username) -}}
{{- if .Values.redis.enabled -}}
redis://{{ $login }}{{ include "memshare.name" . }}-redis:6379/0
{{- else if $external.sentinel.master -}}
sentinel://{{ $login }}{{ join "," $external.sentinel.nodes }}/{{ int $external.database }}?master={{ $external.sentinel.master }}
{{- else if $external.tls.enabled -}}
rediss://{{ $login }}{{ $external.host }}:{{ int $external.port }}/{{ int $external.database }}?ssl_cert_reqs=required
{{- if $external.tls.caSecret }}&ssl_ca_certs=/etc/memshare/redis/ca.crt{{ end }}
{{- else -}}
redis://{{ $login }}{{ $external.host }}:{{ int $external.port }}/{{ int $external.database }}
{{- end }}
{{- end }}

{{- define "memshare.redisTls" -}}
{{- if and (not .Values.redis.enabled) .Values.redis.external.tls.enabled }}yes{{ end }}
{{- end }}

{{- define "memshare.redisCa" -}}
{{- if include "memshare.redisTls" . }}{{ .Values.redis.external.tls.caSecret }}{{ end }}
{{- end }}

{{/* What every process of memshare needs to reach Redis: the environment. */}}
{{- define "memshare.redisEnv" -}}
- name: REDIS_PASSWORD
  valueFrom:
    secretKeyRef: {{ .Values.redis.secret | toJson }}
- name: MEMSHARE_REDIS_URL
  value: {{ include "memshare.redisUrl" . | quote }}
{{- end }}

{{/* What every process that hands tasks in or takes them needs besides: the memory service, and the secret of messages. */}}
{{- define "memshare.memberEnv" -}}
{{ include "memshare.redisEnv" . }}
- {name: MEMSHARE_MEMORY_URL, value: http://{{ include "memshare.name" . }}-memory:8077}
- name: MEMSHARE_MEMORY_TOKEN
  valueFrom:
    secretKeyRef: {{ include "memshare.memorySecret" . }}
- name: MEMSHARE_SECRET
  valueFrom:
    secretKeyRef: {{ include "memshare.signingSecret" . }}
{{- end }}

{{/* The prices and settings that all of these have. */}}
{{- define "memshare.settingsEnv" -}}
{{- if .Values.prices }}
- {name: MEMSHARE_PRICES, value: /etc/memshare/prices/prices.toml}
{{- end }}
{{- range $name, $value := .Values.settings }}
- {name: MEMSHARE_{{ $name }}, value: {{ include "memshare.text" $value | quote }}}
{{- end }}
{{- end }}

{{/* The keys of the models. */}}
{{- define "memshare.modelsEnv" -}}
{{- with .Values.models.secret }}
{{- range $key := list "OPENAI_API_KEY" "MISTRAL_API_KEY" }}
- name: {{ $key }}
  valueFrom:
    secretKeyRef: {name: {{ $.Values.models.secret }}, key: {{ $key }}, optional: true}
{{- end }}
{{- end }}
{{- end }}

{{- define "memshare.agentsEnv" -}}
{{- if .Values.agentFiles -}}
- {name: MEMSHARE_AGENTS_DIR, value: /etc/memshare/agents}
{{- end }}
{{- end }}

{{/*
A process reads these files and Secrets when it starts: its pods roll with the next `helm upgrade` after a change.
(dict "root" $ "files" .Values.agentFiles "secrets" list of {name, key}). What the chart makes itself never changes, and
where manifests are rendered without the cluster no Secret is seen.
*/}}
{{- define "memshare.annotations" -}}
{{- $root := .root }}
{{- $seen := list }}
{{- range .secrets }}
{{- with get ((lookup "v1" "Secret" $root.Release.Namespace .name).data | default dict) .key }}
{{- $seen = append $seen . }}
{{- end }}
{{- end }}
{{- if or .files $seen -}}
annotations:
  {{- with .files }}
  memshare/files: {{ . | toJson | sha256sum }}
  {{- end }}
  {{- with $seen }}
  memshare/secrets: {{ . | toJson | sha256sum }}
  {{- end }}
{{- end }}
{{- end }}

{{/* The Secrets of somebody's own that a part reads, as a list under `of`: (dict "root" $ "part" "worker" "queue" "poem") */}}
{{- define "memshare.ownSecrets" -}}
{{- $values := .root.Values }}
{{- $own := list $values.redis.secret }}
{{- if has .part (list "worker" "serve") }}
{{- $own = concat $own (list $values.memoryService.secret $values.signing.secret) }}
{{- range $key := list "OPENAI_API_KEY" "MISTRAL_API_KEY" }}
{{- $own = append $own (dict "name" $values.models.secret "key" $key) }}
{{- end }}
{{- if and .queue (include "memshare.hasPool" .queue) }}{{ $own = append $own $values.qdrant.secret }}{{ end }}
{{- end }}
{{- if eq .part "serve" }}{{ $own = append $own (dict "name" $values.serve.deploymentsSecret "key" "deployments.toml") }}{{ end }}
{{- if eq .part "flower" }}{{ $own = append $own $values.flower.secret }}{{ end }}
{{- $named := list }}
{{- range $own }}{{ if .name }}{{ $named = append $named . }}{{ end }}{{ end }}
{{- dict "of" $named | toJson }}
{{- end }}

{{/* The annotations of a pod of memshare's own image: the same arguments. */}}
{{- define "memshare.podAnnotations" -}}
{{- $files := list }}
{{- if or .root.Values.agentFiles .root.Values.prices }}{{ $files = list .root.Values.agentFiles .root.Values.prices }}{{ end }}
{{- include "memshare.annotations" (dict "root" .root "files" $files "secrets" (include "memshare.ownSecrets" . | fromJson).of) }}
{{- end }}

{{- define "memshare.priority" -}}
{{- with .Values.priorityClassName -}}
priorityClassName: {{ . }}
{{- end }}
{{- end }}

{{- define "memshare.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch # or each start goes over every file of a volume
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "memshare.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{/* Folders and files of every process of memshare. */}}
{{- define "memshare.mounts" -}}
- {name: data, mountPath: /data}
- {name: tmp, mountPath: /tmp}
{{- if .Values.agentFiles }}
- {name: agents, mountPath: /etc/memshare/agents, readOnly: true}
{{- end }}
{{- if .Values.prices }}
- {name: prices, mountPath: /etc/memshare/prices, readOnly: true}
{{- end }}
{{- if include "memshare.redisCa" . }}
- {name: redis-ca, mountPath: /etc/memshare/redis, readOnly: true}
{{- end }}
{{- end }}

{{- define "memshare.volumes" -}}
- {name: data, emptyDir: {sizeLimit: 2Gi}} # an encoder's export
- {name: tmp, emptyDir: {sizeLimit: 1Gi}}
{{- if .Values.agentFiles }}
- name: agents
  configMap: {name: {{ include "memshare.name" . }}-agents}
{{- end }}
{{- if .Values.prices }}
- name: prices
  configMap: {name: {{ include "memshare.name" . }}-prices}
{{- end }}
{{- with include "memshare.redisCa" . }}
- name: redis-ca
  secret: {secretName: {{ . }}}
{{- end }}
{{- end }}

{{- define "memshare.pullSecrets" -}}
{{- with .Values.image.pullSecrets -}}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- end }}

{{/* What listens behind a Service goes on answering until the Service has forgotten it. */}}
{{- define "memshare.drain" -}}
lifecycle:
  preStop:
    exec: {command: [sleep, "5"]}
{{- end }}

{{/* The ports of a Redis outside of this release. */}}
{{- define "memshare.redisPorts" -}}
{{- if not .Values.redis.enabled }}
{{- $external := .Values.redis.external }}
- {port: {{ int $external.port }}}
{{- range $external.sentinel.nodes }}
- {port: {{ splitList ":" . | last | int }}}
{{- end }}
{{- end }}
{{- end }}

{{/* The port of a Qdrant outside of this release. Its client takes 6333 unless its URL has one. */}}
{{- define "memshare.qdrantPorts" -}}
{{- if not .Values.qdrant.enabled }}
- {port: {{ (urlParse .Values.qdrant.url).host | regexFind ":[0-9]+$" | trimPrefix ":" | default 6333 | int }}}
{{- end }}
{{- end }}
