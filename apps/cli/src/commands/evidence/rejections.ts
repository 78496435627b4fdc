import { asJson } from '@chancery/protocol'
import type { RejectedEvidence } from '@chancery/sdk'
import { wholeNumberOrDefault } from '../../arguments/numbers.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { table } from '../../output/table.ts'

const HEAD = ['REFUSED', 'CODE', 'COUNT', 'EXECUTOR', 'RESOURCE', 'DECISION', 'DIGEST']

/** Runs `evidence rejections`. */
export async function runEvidenceRejections(
  context: CommandContext,
  _args: Arguments,
  options: Options,
): Promise<Result> {
  const cursor = options.text('cursor')
  const limit = wholeNumberOrDefault(options, 'limit', 1, 100)
  const connection = await connectAsOperator(context, options)
  const page = await connection.ask((client) =>
    client.evidence.rejected({ limit, ...(cursor === undefined ? {} : { cursor }) }),
  )
  const more = page.next_cursor === null ? '' : `\nMore: add --cursor ${page.next_cursor}`
  const text =
    page.count === 0 ? 'No record was refused.' : `${table(HEAD, page.rejections.map(toRow), context.style)}${more}`
  return { data: asJson(page), text, ids: page.rejections.map(({ rejection_id }) => rejection_id) }
}

function toRow(row: RejectedEvidence): readonly string[] {
  const { rejected_at, code, count, executor_sovereign_id, resource_id, decision_id, submitted_digest } = row
  return [rejected_at, code, count, executor_sovereign_id, resource_id, decision_id, submitted_digest].map((value) =>
    String(value ?? '-'),
  )
}
