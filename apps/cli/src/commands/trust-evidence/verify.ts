import { readReceived, trustEvidenceForm, visible } from '@chancery/protocol'
import type { JsonValue, TrustEvidence } from '@chancery/protocol'
import { connect } from '../../connection.ts'
import type { CommandContext, Result } from '../../context.ts'
import { loadRecord } from '../../json-file.ts'
import type { Arguments, Options } from '../../options.ts'
import { loadPublicKeys } from '../../public-keys.ts'
import { describeEvidence } from './describe.ts'

const EVIDENCE = {
  name: 'trust evidence',
  member: 'evidence',
  // As it came: a member dropped here would look like a forgery there.
  read: (value: JsonValue): TrustEvidence => readReceived(trustEvidenceForm, value).wire as unknown as TrustEvidence,
} as const

const REASONS: Readonly<Record<string, string>> = {
  accepted: 'it is genuine.',
  missing_signature: 'nobody signed it.',
  invalid_signature: 'no signature is that of a key of its issuer.',
  graph_digest_mismatch: 'it rests on another recognition graph.',
}

/** trust-evidence verify: a verdict is a result, printed as one; the exit code is 1 when it is no. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const evidence = await loadRecord(cwd, args.required('file'), EVIDENCE)
  const [keys, digest] = [await loadPublicKeys(cwd, options, 'issuer-key'), options.text('graph-digest')]
  const request = {
    evidence,
    ...(keys === undefined ? {} : { issuer_public_keys: keys }),
    ...(digest === undefined ? {} : { expected_graph_digest: digest }),
  }
  const connection = await connect(context, options)
  const verdict = await connection.ask((client) => client.trustEvidence.verify(request))
  const title = verdict.accepted ? style.good('Accepted:') : style.bad('Not accepted:')
  const reason = REASONS[verdict.reason] ?? visible(verdict.reason)
  const text = `${title} ${reason}\n${describeEvidence(evidence, style)}`
  return { data: verdict, text, exitCode: verdict.accepted ? 0 : 1 }
}
