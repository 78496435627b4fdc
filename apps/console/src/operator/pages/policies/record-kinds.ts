import type { JsonObject } from '@chancery/protocol'
import { type Target, at } from '../../client.ts'
import type { Act, Effect } from '../../signing/act.ts'
import { undo } from '../../signing/undo.ts'
import { diffTexts } from './diff.ts'
import { readDraft, spell } from './policy-text.ts'

/** A record of the network with one active version: what it is, where it is read, and how it is published. */
export interface RecordKind {
  readonly tab: string
  readonly title: string
  readonly purpose: string
  readonly current: Target
  /** The code of the refusal while there is none. */
  readonly absent: string
  readonly publish: Target
  readonly isPrivileged?: true
  readonly isRepeatable?: true
  /** Members that the authority sets. They are not part of the text to publish. */
  readonly assigned: readonly string[]
  readonly example: JsonObject
  readonly toBody: (record: JsonObject) => JsonObject
}

const IDENTITY = (record: JsonObject): JsonObject => record

export const RECORD_KINDS: readonly RecordKind[] = [
  {
    tab: 'network',
    title: 'Network policy',
    purpose: 'Ports, services and routing for all nodes of the network.',
    current: at`/policy`,
    absent: '',
    publish: at`/admin/policy`,
    isPrivileged: true,
    isRepeatable: true,
    assigned: ['policy_id', 'issued_at', 'issued_by', 'signatures'],
    example: { min_client_version: '0.1.0', allowed_ports: [443], allowed_services: [], routing: {} },
    toBody: IDENTITY,
  },
  {
    tab: 'recognition',
    title: 'Recognition policy',
    purpose: 'Which networks issue attestations that this authority accepts.',
    current: at`/recognition-policy`,
    absent: 'recognition_policy_not_configured',
    publish: at`/admin/recognition-policy`,
    isPrivileged: true,
    assigned: [],
    example: { local_sovereign_id: '', recognized_issuers: [] },
    toBody: (record) => ({ recognition_policy: record }),
  },
  {
    tab: 'data-licence',
    title: 'Data licence',
    purpose: 'Which data another network may use, and how.',
    current: at`/data-usage/policy`,
    absent: 'no_policy',
    publish: at`/admin/data-usage/policy`,
    isRepeatable: true,
    assigned: ['policy_id', 'licensor_sovereign_id', 'issued_at', 'issued_by', 'signature'],
    example: {
      licensee_sovereign_id: '',
      allowed_source_ids: [],
      allowed_access_types: ['read'],
      valid_from: '2027-01-01T00:00:00Z',
      valid_until: '2028-01-01T00:00:00Z',
    },
    toBody: IDENTITY,
  },
]

/** The members that an operator writes, one per line, with their numbers as signed. */
export function recordText(kind: RecordKind, record: JsonObject): string {
  return spell(Object.fromEntries(Object.entries(record).filter(([name]) => !kind.assigned.includes(name))))
}

/** Publishes a text as the active record. The drawer shows each line that changes. */
export function publishRecordAct(kind: RecordKind, record: JsonObject | undefined): Act {
  const before = record === undefined ? '' : recordText(kind, record)
  const { title, isPrivileged, isRepeatable } = kind
  const previous = record?.['policy_id']
  return {
    name: 'publish',
    title: `Publish the ${title.toLowerCase()}`,
    sentence: 'It replaces the active record from the next request on.',
    button: 'Sign and publish',
    fields: [
      {
        name: 'record',
        label: `${title} as JSON`,
        kind: 'long',
        isMono: true,
        initial: record === undefined ? JSON.stringify(kind.example, null, 2) : before,
      },
    ],
    ...(isPrivileged === undefined ? {} : { isPrivileged }),
    requests: (values) => {
      const { intent, problem } = readDraft(values['record'] ?? '')
      if (intent === undefined) throw new Error(`Line ${problem.line ?? 1}: ${problem.text}`)
      const body = kind.toBody(intent)
      return [{ target: kind.publish, body, ...(isRepeatable === undefined ? {} : { isRepeatable }) }]
    },
    effects: (values) => changedLines(before, values['record'] ?? ''),
    done: () => ({
      toast: {
        text: `The ${title.toLowerCase()} is published.`,
        ...(kind.tab === 'network' && typeof previous === 'string'
          ? { undo: { text: 'Back to the one before', run: () => void rollBack(previous) } }
          : {}),
      },
    }),
  }
}

const MOST_LINES = 20

/** Each changed line as one effect, at most 20; the others are counted. */
export function changedLines(before: string, after: string): readonly Effect[] {
  const changed = diffTexts(before, after).filter(({ sign }) => sign !== ' ')
  if (changed.length === 0) return [{ shape: 'dash', tone: 'ended', text: 'The content is the same as now' }]
  const effects = changed.slice(0, MOST_LINES).map(({ sign, text, before: from, after: to }): Effect => {
    const line = text.trim()
    return sign === '+'
      ? { shape: 'tick', tone: 'good', text: `New line ${to ?? ''}: ${line}` }
      : { shape: 'cross', tone: 'bad', text: `Removed line ${from ?? ''}: ${line}` }
  })
  if (changed.length <= MOST_LINES) return effects
  return [...effects, { shape: 'dash', tone: 'ended', text: `${changed.length - MOST_LINES} more lines` }]
}

/** Makes a stored network policy the active one again. */
export function rollbackAct(policyId: string): Act {
  return {
    name: `rollback-${policyId}`,
    title: `Go back to ${policyId}`,
    sentence: 'Nodes get this version from the next request on. All versions stay stored.',
    button: 'Sign and go back',
    fields: [],
    isPrivileged: true,
    requests: () => [{ target: at`/admin/policy/rollback`, body: { policy_id: policyId } }],
    effects: () => [{ shape: 'circle', tone: 'good', text: `${policyId} becomes the active network policy` }],
    done: () => ({ toast: { text: `${policyId} is the active network policy.` } }),
  }
}

function rollBack(policyId: string): Promise<void> {
  return undo(
    async (change) => {
      await change(at`/admin/policy/rollback`, { policy_id: policyId })
      return `${policyId} is the active network policy again.`
    },
    { href: '/operator/policies?tab=network', text: 'Check the network policy' },
  )
}
