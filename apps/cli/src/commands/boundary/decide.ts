import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { loadJsonObject } from '../../files/json-file.ts'
import { saveRecord } from '../../files/save-record.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { loadAgreement } from '../agreements/records.ts'
import { decisionResult } from './describe.ts'

/** Runs `decide`; the exit code is 1 for a denial, so that a script stops. */
export async function runDecide(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const agreement = await loadAgreement(cwd, args.required('agreement'))
  const file = options.text('context')
  const request = {
    agreement,
    requested_capability: args.required('capability'),
    ...(file === undefined ? {} : { context: await loadJsonObject(cwd, file) }),
  }
  const connection = await connectAsOperator(context, options)
  const { record, saved } = await saveRecord(cwd, options, () =>
    connection.ask((client) => client.boundary.decide(request)),
  )
  return decisionResult(record, { data: record, saved, style })
}
