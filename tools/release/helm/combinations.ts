import type { Values } from './overlay.ts'

/** The values that decide which objects the chart makes and how, in every combination that can be installed. */

const DIGEST = `sha256:${'0'.repeat(64)}`

/** Each choice is a list of values, one of which is given. */
const BOTH_PARTS: readonly (readonly Values[])[] = [
  [{}, { monitoring: { enabled: true } }],
  [{}, { traces: { endpoint: 'http://collector.monitoring:4318' } }],
]
const AUTHORITY: readonly (readonly Values[])[] = [
  [{}, { authority: { autoscaling: { enabled: true } } }],
  [{}, { authority: { backup: { enabled: true } } }],
  [{}, { authority: { migration: { enabled: false } } }],
]
const GATEWAY: readonly (readonly Values[])[] = [
  [{}, { gateway: { autoscaling: { enabled: true } } }],
  [{}, { gateway: { state: { initialize: [0, 1] } } }],
  [{}, { gateway: { settings: { GATEWAY_TLS_CERT_FILE: '/etc/chancery/tls.crt' } } }],
]
/** Choices without influence on each other: each is tried once, with everything else at its default. */
const ALONE: readonly Values[] = [
  { authority: { settings: { NA_PROXY_HOPS: '1' } } },
  { authority: { marks: { storageClass: 'fast' }, podAnnotations: { a: 'b' } } },
  { gateway: { state: { storageClass: 'fast' }, podAnnotations: { a: 'b' } } },
  { monitoring: { enabled: true, alerts: false } },
  ...['authority', 'gateway'].flatMap((part): Values[] => [
    { [part]: { serviceAccountAnnotations: { role: 'a' }, nodeSelector: { disk: 'ssd' } } },
    { [part]: { tolerations: [{ key: 'a', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 60 }] } },
    { [part]: { affinity: { podAntiAffinity: {} } } },
    {
      [part]: {
        extraVolumes: [
          { name: 'ca', configMap: { name: 'ca' } },
          { name: 'module', persistentVolumeClaim: { claimName: 'module' } },
        ],
        extraVolumeMounts: [{ name: 'ca', mountPath: '/etc/ca', readOnly: true }],
      },
    },
  ]),
  { image: { pullSecrets: ['registry-login'] } },
  { zoneSpread: 'DoNotSchedule' },
  { networkPolicy: { authorityDestinations: [], gatewayDestinations: [] } },
  {
    networkPolicy: {
      authorityDestinations: [{ name: 'database', ports: [5432], cidrs: ['10.20.0.0/28', 'fd00::/64'] }],
    },
  },
  { networkPolicy: { gatewayDestinations: [{ name: 'quota', ports: [6379, 6380], podLabels: { app: 'redis' } }] } },
  {
    networkPolicy: {
      authorityDestinations: [
        { name: 'all', ports: [443], namespaceLabels: { a: 'b' }, podLabels: { c: 'd' }, cidrs: ['10.0.0.0/8'] },
      ],
    },
  },
  {
    traces: {
      endpoint: 'http://10.9.8.7:4318',
      namespaceLabels: { 'chancery.access/collector': null },
      cidrs: ['10.9.8.7/32'],
    },
  },
  { networkPolicy: { dns: { podLabels: { 'k8s-app': null } } } },
]

export function combinations(): readonly Values[] {
  const image = { image: { digest: DIGEST } }
  return [
    ...product([...BOTH_PARTS, ...AUTHORITY, ...GATEWAY]),
    ...product([...BOTH_PARTS, ...AUTHORITY]).map((values) => merge(values, { gateway: { enabled: false } })),
    ...product([...BOTH_PARTS, ...GATEWAY]).map((values) => merge(values, { authority: { enabled: false } })),
    ...ALONE,
  ].map((values) => merge(image, values))
}

function product(choices: readonly (readonly Values[])[]): readonly Values[] {
  return choices.reduce<readonly Values[]>(
    (all, choice) => all.flatMap((one) => choice.map((more) => merge(one, more))),
    [{}],
  )
}

/** Like an overlay, but a null stays: it takes a default away. */
function merge(under: Values, over: Values): Values {
  const merged: Record<string, unknown> = { ...under }
  for (const [name, value] of Object.entries(over)) {
    const below = merged[name]
    const isNested = typeof below === 'object' && typeof value === 'object' && !Array.isArray(value)
    merged[name] = isNested && below !== null && value !== null ? merge(below as Values, value as Values) : value
  }
  return merged
}
