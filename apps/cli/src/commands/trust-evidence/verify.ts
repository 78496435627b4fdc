import { type TrustEvidence, trustEvidenceForm, visible } from '@chancery/protocol'
import { connect } from '../../connection/connection.ts'
import { issueRecord } from '../../connection/record-command.ts'
import type { CommandContext } from '../../context.ts'
import { type Members, type Result, fields } from '../../output/screen.ts'
import { loadJsonObject, loadRecord, recordKind } from '../../files/json-file.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { loadPublicKeys } from '../../files/keys.ts'
import type { TrustDecision } from '@chancery/sdk/authority'

function evidenceMembers(evidence: TrustEvidence): Members {
  return [
    ['evidence', evidence.evidence_id],
    ['issuer', evidence.issuer_sovereign_id],
    ['about', `${evidence.source_sovereign_id} ──▶ ${evidence.target_sovereign_id}`],
    ['verdict', `${evidence.verdict}${evidence.reason === '' ? '' : ` (${evidence.reason})`}`],
    ['hops', String(evidence.hop_count)],
    ['graph', evidence.graph_digest],
  ]
}

const EVIDENCE = recordKind('trust evidence', 'evidence', trustEvidenceForm)

const REASONS: Readonly<Record<string, string>> = {
  accepted: 'it is genuine.',
  missing_signature: 'it has no signature.',
  invalid_signature: 'no signature is that of a key of its issuer.',
  graph_digest_mismatch: 'it rests on another recognition graph.',
}

/** Runs `trust-evidence verify`; the exit code is 1 when the record is not valid. */
export async function runTrustEvidenceVerify(
  context: CommandContext,
  args: Arguments,
  options: Options,
): Promise<Result> {
  const { cwd, style } = context
  const { record, wire } = await loadRecord(cwd, args.required('file'), EVIDENCE)
  const [keys, digest] = [await loadPublicKeys(cwd, options, 'issuer-key'), options.text('graph-digest')]
  const request = {
    evidence: wire,
    ...(keys === undefined ? {} : { issuer_public_keys: keys }),
    ...(digest === undefined ? {} : { expected_graph_digest: digest }),
  }
  const connection = await connect(context, options)
  const verdict = await connection.ask((client) => client.trustEvidence.verify(request))
  const title = verdict.accepted ? style.good('Accepted:') : style.bad('Not accepted:')
  const reason = REASONS[verdict.reason] ?? visible(verdict.reason)
  const text = `${title} ${reason}\n${fields(evidenceMembers(record), style)}`
  return { data: verdict, text, exitCode: verdict.accepted ? 0 : 1 }
}

/** Runs `trust-evidence build`: sends the file unchanged; the authority checks it. */
export async function runTrustEvidenceBuild(
  context: CommandContext,
  args: Arguments,
  options: Options,
): Promise<Result> {
  const decision = (await loadJsonObject(context.cwd, args.required('decision'))) as TrustDecision
  const graph_digest = options.text('graph-digest')
  const request = { decision, ...(graph_digest === undefined ? {} : { graph_digest }) }
  const shown = { title: 'Signed:', members: evidenceMembers }
  return issueRecord(context, options, ({ trustEvidence }) => trustEvidence.issue(request), shown)
}
