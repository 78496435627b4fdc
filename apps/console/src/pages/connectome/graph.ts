/** The graph as columns, see /connectome.json?view=edges. */
export interface Graph {
  readonly ids: readonly string[]
  readonly from: Uint32Array
  readonly to: Uint32Array
  readonly tone: readonly Tone[]
  /** 1 for a treaty that a partner reports. It counts for no path of trust. */
  readonly reported: Uint8Array
  /** Edges of each sovereign. */
  readonly degree: Uint32Array
  readonly placeOf: ReadonlyMap<string, number>
}

export const TONES = ['good', 'watch', 'urgent', 'bad', 'ended'] as const
export type Tone = (typeof TONES)[number]

const TONE_OF: Readonly<Record<string, Tone>> = {
  active: 'good',
  expiring_soon: 'watch',
  expired: 'bad',
  revoked: 'ended',
  replaced: 'ended',
}

interface Columns {
  readonly sovereigns: readonly string[]
  readonly lifecycle_states: readonly string[]
  readonly from: readonly number[]
  readonly to: readonly number[]
  readonly state: readonly number[]
  readonly expiry_risks: readonly string[]
  readonly risk: readonly number[]
  /** 0 own, 1 reported. */
  readonly origin?: readonly number[]
}

export async function loadGraph(): Promise<Graph> {
  const response = await fetch('/connectome.json?view=edges&reported=include')
  if (!response.ok) throw new Error(`The graph was refused with status ${response.status}.`)
  return readColumns((await response.json()) as Columns)
}

/** The data is for display only. It is not used for trust decisions. */
export function readColumns(columns: Columns): Graph {
  const ids = columns.sovereigns
  const [from, to] = [Uint32Array.from(columns.from), Uint32Array.from(columns.to)]
  const degree = new Uint32Array(ids.length)
  for (let i = 0; i < from.length; i += 1) {
    const [a, b] = [from[i] ?? 0, to[i] ?? 0]
    degree[a] = (degree[a] ?? 0) + 1
    degree[b] = (degree[b] ?? 0) + 1
  }
  const tones = columns.lifecycle_states.map((state) => TONE_OF[state] ?? 'ended')
  return {
    ids,
    from,
    to,
    tone: columns.state.map((state, edge) => (isUrgent(columns, edge) ? 'urgent' : (tones[state] ?? 'ended'))),
    reported: Uint8Array.from(columns.origin ?? columns.from.map(() => 0)),
    degree,
    placeOf: new Map(ids.map((id, element) => [id, element])),
  }
}

/** True when the treaty expires within a day and is not revoked. */
function isUrgent({ lifecycle_states, state, expiry_risks, risk }: Columns, edge: number): boolean {
  return lifecycle_states[state[edge] ?? -1] === 'expiring_soon' && expiry_risks[risk[edge] ?? -1] === 'high'
}

/** True for an own treaty in force. Reported ones never make a member accepted. */
export function countsHere(graph: Graph, edge: number): boolean {
  return graph.reported[edge] !== 1 && isInForce(graph.tone[edge])
}

/** True for a treaty that recognition can use (protocol/core 20.2). */
export function isInForce(tone: Tone | undefined): boolean {
  return tone === 'good' || tone === 'watch' || tone === 'urgent'
}
