import type { JsonObject } from '@chancery/protocol'
import { plain } from '../../../components/plain.ts'
import { at } from '../../client.ts'
import { shortId } from '../../parts/short-id.ts'
import type { Act, Effect, Values } from '../../signing/act.ts'
import { REASON_WORDS, reasonText } from '../../words/reasons.ts'

/** A node by one of its certificates: the newest, unless the operator chose another. */
export interface RevokedNode {
  readonly name: string
  readonly cert_id: string
  readonly isEarlier?: boolean
}

const ALL = 'all'
/** The bound of POST /admin/revoke. */
export const MOST_REVOKED = 1000
const MOST_NAMES = 20

/** Revokes nodes in one version of the list. */
export function revokeAct(nodes: readonly RevokedNode[]): Act {
  const [first] = nodes
  const isOne = nodes.length === 1
  const which =
    first?.isEarlier === true ? `only the certificate ${shortId(first.cert_id)}` : 'only its newest certificate'
  const name = isOne ? (first?.name ?? '') : `${nodes.length} nodes`
  return {
    name: 'revoke',
    title: `Revoke ${name}`,
    sentence: 'Every instance refuses its requests from the next one on. Gateways refuse it with their next list.',
    button: 'Sign and revoke',
    fields: [
      {
        name: 'reason',
        label: 'Why',
        kind: 'choice',
        initial: 'cessation_of_operation',
        choices: Object.keys(REASON_WORDS).map((value) => ({ value, text: reasonText(value) })),
      },
      {
        name: 'ends',
        label: 'What ends',
        kind: 'choice',
        initial: ALL,
        choices: [
          { value: ALL, text: `every certificate of ${isOne ? 'its node key' : 'their node keys'}` },
          { value: 'one', text: isOne ? which : 'only their newest certificates' },
        ],
      },
    ],
    isPrivileged: true,
    hasDryRun: true,
    // A node must not change what the operator reads and types.
    isFixed: true,
    final: {
      warning:
        'A revocation is permanent. To return, a node needs a new invite, and a new key when its key is compromised.',
      typed: isOne ? name : `revoke ${name}`,
    },
    requests: (values) => [{ target: at`/admin/revoke`, body: toBody(nodes, values), isRepeatable: true }],
    effects: (values, dryRun) => effectsOf(values, dryRun ?? {}),
    done: ([answer]) => ({
      toast: {
        text: `Revoked ${name}.`,
        more: `${alsoEnded(answer)}List ${plain(answer?.['crl_sequence'])} has ${plain(answer?.['revoked_count'])} entries.`,
      },
    }),
  }
}

function toBody(nodes: readonly RevokedNode[], values: Values): JsonObject {
  if (nodes.length > MOST_REVOKED) throw new Error(`At most ${MOST_REVOKED} nodes can be revoked at once.`)
  const ids = nodes.map(({ cert_id }) => cert_id)
  return {
    ...(ids.length === 1 ? { cert_id: ids[0] ?? '' } : { cert_ids: ids }),
    reason: values['reason'] ?? 'unspecified',
    // A compromised key has no certificate to keep: the dry run shows that all end.
    ...(values['ends'] === ALL || values['reason'] === 'key_compromise' ? {} : { only_this: true }),
  }
}

interface Counted {
  readonly count: number
  readonly sample: readonly string[]
}

/** Names the certificates that ended with the chosen ones. */
function alsoEnded(answer: JsonObject | undefined): string {
  const also = answer?.['also_revoked'] as Counted | undefined
  return also === undefined ? '' : `Of the same key also ended: ${names(also)}. `
}

/** Returns the effect of a revocation from the answer of its dry run. */
export function effectsOf(values: Values, dryRun: JsonObject): readonly Effect[] {
  const part = (name: string): Counted => (dryRun[name] as Counted | undefined) ?? { count: 0, sample: [] }
  const [ended, others, raised, agents] = [
    part('certificates_revoked'),
    part('other_certificates'),
    part('reasons_raised'),
    part('agents_dropped'),
  ]
  const effects: Effect[] = []
  if (ended.count > 0)
    effects.push({
      shape: 'cross',
      tone: 'bad',
      text: `${plural(ended.count, 'certificate')} ${ended.count === 1 ? 'ends' : 'end'}`,
      more: names(ended),
    })
  if (agents.count > 0)
    effects.push({ shape: 'cross', tone: 'bad', text: `${plural(agents.count, 'agent')} removed from the registry` })
  if (raised.count > 0)
    effects.push({
      shape: 'triangle',
      tone: 'watch',
      text: `${plural(raised.count, 'earlier revocation')} ${raised.count === 1 ? 'gets' : 'get'} the reason key_compromise`,
    })
  if (others.count > 0)
    effects.push({
      shape: 'triangle',
      tone: 'urgent',
      text: `${plural(others.count, 'certificate')} of the same key ${others.count === 1 ? 'stays' : 'stay'} valid`,
      more: 'The node can go on with them. Choose every certificate of its node key.',
    })
  if (ended.count + raised.count > 0)
    effects.push({
      shape: 'tick',
      tone: 'good',
      text: 'A new revocation list is signed and published',
      more: 'Gateways and services read it at their next interval.',
    })
  if (values['reason'] === 'key_compromise')
    effects.push({ shape: 'square', tone: 'bad', text: 'The node key is refused permanently and can never join again' })
  return effects.length > 0
    ? effects
    : [{ shape: 'dash', tone: 'ended', text: 'Nothing changes: it is revoked already' }]
}

const plural = (count: number, word: string): string => `${count.toLocaleString('en')} ${word}${count === 1 ? '' : 's'}`

function names({ count, sample }: Counted): string {
  const shown = sample.slice(0, MOST_NAMES)
  const rest = count - shown.length
  return shown.join(', ') + (rest > 0 ? ` and ${rest.toLocaleString('en')} more` : '')
}
