import { type JsonValue, type TrustEvidence, readReceived, trustEvidenceForm, visible } from '@chancery/protocol'
import { connect } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { loadRecord } from '../../files/json-file.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { loadPublicKeys } from '../../files/public-keys.ts'
import { describeEvidence } from './describe.ts'

const EVIDENCE = {
  name: 'trust evidence',
  member: 'evidence',
  // The file is sent unchanged: a dropped field would break the signature.
  read: (value: JsonValue): TrustEvidence => readReceived(trustEvidenceForm, value).wire as unknown as TrustEvidence,
} as const

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
