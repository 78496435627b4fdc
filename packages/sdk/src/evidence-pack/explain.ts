import type { BoundaryDecision, GateTraceEntry } from '@chancery/protocol'
import type { EvidencePackReport, PackCheckName } from './report.ts'
import { type PackEntries, readEntries } from './check-entries.ts'
import type { EvidencePack } from './format.ts'

/** What each check of a pack verifies. */
export const PACK_CHECK_WORDS: Readonly<Record<PackCheckName, string>> = {
  contents: 'counts and checksum match (no signature)',
  genesis: 'genesis block is signed by its root key',
  root_key: 'root key is the one you trust',
  key_history: 'former keys are signed by the root key',
  decision: 'decision is signed, and its entry is unchanged',
  context: 'request is the one that was decided',
  justification: 'justification is signed and of this decision',
  executions: 'executions are signed, proven and of this decision',
  policies: 'policies are those the decision names',
  policy_texts: 'policy texts are those the policies name',
  treaty: 'treaty with the partner is the one the decision names',
  basis: 'attestation or agreement is the one the decision names',
  basis_signature: 'attestation or agreement is signed by its issuer or parties',
  inclusion: 'entries are in the public log',
  witnesses: 'witnesses cosigned the log',
  anchor: 'anchor covers the decision',
}

/** One gate of the decision, with its reason in one sentence. */
export interface PackReason {
  readonly gate: string
  readonly passed: boolean
  /** The gate only observes: it denies nothing. */
  readonly observed: boolean
  readonly text: string
}

/** The decision in plain sentences. They repeat the records: rely on them only if the report is valid. */
export interface PackStory {
  readonly authorized: boolean
  readonly heading: string
  readonly sentences: readonly string[]
  readonly reasons: readonly PackReason[]
  readonly executions: readonly string[]
}

/**
 * Explains a pack that was checked. A request that is not proven is not named, and an execution that is not proven is left
 * out. Returns undefined when the decision cannot be read.
 */
export function explainPack(
  pack: EvidencePack,
  { checks, proven_executions }: Pick<EvidencePackReport, 'checks' | 'proven_executions'>,
): PackStory | undefined {
  const read = readEntries(pack)
  const { decision } = read
  if (decision === undefined) return undefined
  const { record, context } = decision
  const { authorized, operator_sovereign_id: authority } = record
  const isProven = checks.some(({ name, status }) => name === 'context' && status === 'passed')
  const who = record.attestation_binding?.subject_id ?? context.requester_sovereign_id
  const what = isProven ? `${context.requested_capability} for ${who}` : 'a request that is not proven'
  return {
    authorized,
    heading: `${authorized ? 'Allowed' : 'Denied'}: ${what}`,
    sentences: [
      `The authority of ${authority} ${authorized ? 'allowed' : 'denied'} ${what}.`,
      `It decided at ${record.decision_made_at}.${authorized ? ` The decision was valid until ${record.decision_valid_until}.` : ''}`,
      ...(record.denial_reason === null ? [] : [`The reason of the denial is: ${record.denial_reason}.`]),
      ...basisSentences(pack, record),
      policySentence(record),
    ],
    reasons: reasonsOf(read, record),
    executions: read.executions
      .filter(({ event }) => proven_executions.includes(event.entry.store_sequence))
      .map(({ record: { executor_sovereign_id, executed_capability, executed_at, outcome, resource_id } }) => {
        const on = resource_id === undefined ? '' : ` on ${resource_id}`
        return `${executor_sovereign_id} executed ${executed_capability}${on} at ${executed_at}: ${outcome}.`
      }),
  }
}

function basisSentences({ treaty, genesis }: EvidencePack, record: BoundaryDecision): readonly string[] {
  const binding = record.attestation_binding
  if (binding === undefined) return [`The basis is agreement ${record.agreement_id}.`]
  const { attestation_id, issuer_sovereign_id: issuer } = binding
  if (issuer === null) return [`The request named attestation ${attestation_id}, which the authority did not find.`]
  const sentence = `The basis is attestation ${attestation_id}, which ${issuer} issued.`
  if (issuer === genesis.network_name) return [sentence]
  const id = typeof treaty?.['treaty_id'] === 'string' ? ` by treaty ${treaty['treaty_id']}` : ''
  return [sentence, `${issuer} is another network${id === '' ? '' : `, which the authority recognised${id}`}.`]
}

function policySentence({ policy_binding }: BoundaryDecision): string {
  const named = (policy_binding?.policies ?? []).map(({ policy_id, version }) => `${policy_id} version ${version}`)
  if (named.length === 0) return 'No policy applied.'
  return `${named.length === 1 ? 'Policy' : 'Policies'} ${named.join(', ')} applied.`
}

function reasonsOf({ justification }: PackEntries, record: BoundaryDecision): readonly PackReason[] {
  const observed = new Set(
    (record.policy_binding?.gate_evaluations ?? [])
      .filter(({ mode }) => mode === 'observe')
      .map(({ policy_id, gate_id }) => `${policy_id}/${gate_id}`),
  )
  const trace: readonly GateTraceEntry[] = justification?.record.trace.entries ?? []
  return record.gate_results.map(({ gate_name, passed, detail }, at) => {
    const entry = trace[at]
    const reason = entry?.gate_name === gate_name && entry.reason !== '' ? entry.reason : detail
    const isObserved = observed.has(gate_name)
    const did = passed ? 'passed' : isObserved ? 'did not pass, and only observes' : 'did not pass'
    return { gate: gate_name, passed, observed: isObserved, text: `${gate_name} ${did}: ${reason}` }
  })
}
