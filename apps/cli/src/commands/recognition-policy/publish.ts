import { type RecognitionPolicy, readRecognitionPolicy, visible } from '@chancery/protocol'
import type { Options } from '../../arguments/options.ts'
import { connect, connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { loadRecord } from '../../files/json-file.ts'
import { type Result, type Style, plural, table } from '../../output/screen.ts'
import { previewThenConfirm } from '../../prompts/preview.ts'

/** Returns a recognition policy as text: each issuer with what is accepted of it. */
function describeRecognition(policy: RecognitionPolicy, style: Style): string {
  const rows = policy.recognized_issuers.map((issuer) => [
    visible(issuer.sovereign_id),
    plural(issuer.public_keys.length, 'key'),
    issuer.allowed_roles.map((role) => visible(role)).join(', ') || 'none',
    (issuer.accepted_statuses ?? []).map((status) => visible(status)).join(', ') || '-',
  ])
  const revoked = plural((policy.revoked_attestation_ids ?? []).length, 'attestation')
  const end = `${revoked} revoked by this policy.`
  if (rows.length === 0) return `No issuer is recognised.\n${end}`
  return `${table(['ISSUER', 'KEYS', 'ROLES', 'STATUSES'], rows, style)}\n${end}`
}

/** `policy show recognition`. */
export async function showRecognition(context: CommandContext, options: Options): Promise<Result> {
  const connection = await connect(context, options)
  const policy = await connection.ask((client) => client.recognitionPolicy.current())
  return { data: policy, text: describeRecognition(policy, context.style) }
}

const POLICY = { name: 'a recognition policy', member: 'recognition_policy', read: readRecognitionPolicy } as const
/** As many revoked ids as the route takes. */
const LIMITS = { maxDepth: 16, maxValues: 1_000_000, maxNames: 1_000_000 }

/** `policy publish` of a recognition policy: it replaces what is accepted now, so it shows the new policy and asks first. */
export async function publishRecognition(context: CommandContext, file: string, options: Options): Promise<Result> {
  const recognition_policy = await loadRecord(context.cwd, file, POLICY, LIMITS)
  const connection = await connectAsOperator(context, options)
  const text = describeRecognition(recognition_policy, context.style)
  const { only } = await previewThenConfirm(context, options, {
    preview: () => Promise.resolve({ data: recognition_policy, lines: [text] }),
    question: `Replace the recognition policy at ${connection.url}?`,
  })
  if (only !== undefined) return only
  const saved = await connection.ask((client) => client.recognitionPolicy.publish({ recognition_policy }))
  return {
    data: { ...saved, recognition_policy },
    ids: [saved.policy_id],
    text: `${context.style.good('Active:')} ${visible(saved.policy_id)}.\n${text}`,
  }
}
