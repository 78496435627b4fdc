import type { Manifest } from '../../check/check-manifests.ts'

/** What the API of Kubernetes does not require and we do, of all manifests of one installation. */

export type Labels = Readonly<Record<string, string>>

interface Selector {
  readonly matchLabels?: Labels
}

interface Pod {
  readonly metadata: { readonly labels: Labels }
  readonly spec: {
    readonly topologySpreadConstraints?: readonly { readonly topologyKey: string; readonly labelSelector: Selector }[]
    readonly containers: readonly object[]
  }
}

interface Rule {
  readonly from?: readonly object[]
  readonly to?: readonly object[]
  readonly ports?: readonly object[]
}

interface Spec {
  readonly replicas?: number
  readonly minAvailable?: number
  readonly selector?: Selector & Labels
  readonly template?: Pod
  readonly jobTemplate?: { readonly spec: { readonly template: Pod } }
  readonly podSelector?: Selector
  readonly policyTypes?: readonly string[]
  readonly ingress?: readonly Rule[]
  readonly egress?: readonly Rule[]
}

const WORKLOADS = ['StatefulSet', 'Deployment', 'Job', 'CronJob']
/** Words of every pod: the restricted profile, no writable root, no rights, the image by digest. */
const CLOSED = [
  '"runAsNonRoot":true',
  '"readOnlyRootFilesystem":true',
  '"allowPrivilegeEscalation":false',
  '"drop":["ALL"]',
  '"type":"RuntimeDefault"',
  '"automountServiceAccountToken":false',
  '"enableServiceLinks":false',
  '"limits":{',
]
const SPREAD = ['topology.kubernetes.io/zone', 'kubernetes.io/hostname']

export function findViolations(manifests: readonly Manifest[]): readonly string[] {
  const names = manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`)
  const repeated = names.filter((name, at) => names.indexOf(name) !== at)
  const problems = repeated.map((name) => `${name} exists twice`)
  for (const manifest of manifests) {
    const found = [...nameRules(manifest), ...policyRules(manifest), ...podRules(manifest, manifests)]
    problems.push(...found.map((problem) => `${manifest.kind} ${manifest.metadata.name}: ${problem}`))
  }
  return problems
}

function nameRules({ metadata }: Manifest): readonly string[] {
  const labels = Object.values((metadata.labels ?? {}) as Labels)
  return [metadata.name, ...labels].filter((text) => text.length > 63).map((text) => `${text} is too long`)
}

/** A rule without peers is open to every address; one without ports opens all of them. */
function policyRules(manifest: Manifest): readonly string[] {
  if (manifest.kind !== 'NetworkPolicy') return []
  const { policyTypes = [], ingress = [], egress = [] } = specOf(manifest)
  const rules = [...ingress.map((rule) => [rule.from, rule.ports]), ...egress.map((rule) => [rule.to, rule.ports])]
  const problems = rules.flatMap(([peers = [], ports = []]) => [
    ...(peers.length === 0 ? ['a rule names no destination or source'] : []),
    ...(ports.length === 0 ? ['a rule names no port'] : []),
    ...peers.filter(isEveryPeer).map((peer) => `${JSON.stringify(peer)} is every pod or address`),
  ])
  return policyTypes.includes('Egress') ? problems : [...problems, 'does not limit egress']
}

function isEveryPeer(peer: object): boolean {
  return (
    Object.keys(peer).length === 0 || /\{"matchLabels":\{\}\}|:\{\}|"(0\.0\.0\.0|::)\/0"/.test(JSON.stringify(peer))
  )
}

function podRules(manifest: Manifest, all: readonly Manifest[]): readonly string[] {
  const pod = podOf(manifest)
  if (pod === undefined) return []
  const { labels } = pod.metadata
  const text = JSON.stringify(pod)
  const problems = CLOSED.filter((words) => !text.includes(words)).map((words) => `lacks ${words}`)
  const selectedBy = (kind: string, of: (spec: Spec) => Selector | undefined): readonly Manifest[] =>
    all.filter((one) => one.kind === kind && selects(of(specOf(one)), labels))
  if (!selectedBy('NetworkPolicy', ({ podSelector }) => podSelector).some((policy) => limitsAll(policy)))
    problems.push('no network policy closes its pods in both directions')
  if (manifest.kind !== 'StatefulSet') return problems
  const budgets = selectedBy('PodDisruptionBudget', ({ selector }) => selector)
  if (budgets.length !== 1) problems.push(`${budgets.length} disruption budgets`)
  const { replicas = 2 } = specOf(manifest)
  if (budgets.some((budget) => (specOf(budget).minAvailable ?? 0) >= replicas)) problems.push('no pod can be moved')
  for (const key of SPREAD)
    if (
      !pod.spec.topologySpreadConstraints?.some((one) => one.topologyKey === key && selects(one.labelSelector, labels))
    )
      problems.push(`its pods are not spread by ${key}`)
  for (const probe of ['readinessProbe', 'livenessProbe']) if (!text.includes(probe)) problems.push(`has no ${probe}`)
  return problems
}

function limitsAll(policy: Manifest): boolean {
  return ['Ingress', 'Egress'].every((type) => specOf(policy).policyTypes?.includes(type) === true)
}

function selects(selector: Selector | undefined, labels: Labels): boolean {
  return (
    selector !== undefined &&
    Object.entries(selector.matchLabels ?? {}).every(([name, value]) => labels[name] === value)
  )
}

export function podOf(manifest: Manifest): Pod | undefined {
  if (!WORKLOADS.includes(manifest.kind)) return undefined
  const { template, jobTemplate } = specOf(manifest)
  return template ?? jobTemplate?.spec.template
}

function specOf(manifest: Manifest): Spec {
  return (manifest as unknown as { readonly spec?: Spec }).spec ?? {}
}
