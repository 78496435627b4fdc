import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { usageError } from '../../errors/failure.ts'
import { saveRecord } from '../../files/save-record.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { loadStructured } from '../../files/structured-file.ts'
import { loadAgreement } from '../agreements/records.ts'
import { decisionResult } from './describe.ts'
import { attestationId, loadPresented } from './presented.ts'

/** Runs `evaluate`; the exit code is 1 for a denial, so that a script stops. */
export async function runEvaluate(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const [agreement, file] = [options.text('agreement'), options.text('context')]
  const attestation = await attestationId(cwd, options)
  const presented = await loadPresented(cwd, options)
  if ([agreement, attestation, presented].filter((basis) => basis !== undefined).length !== 1)
    throw usageError('Give exactly one of --agreement, --attestation and --presented.')
  const request = {
    ...(agreement === undefined ? {} : { agreement: await loadAgreement(cwd, agreement) }),
    ...(attestation === undefined ? {} : { attestation_id: attestation }),
    ...(presented === undefined ? {} : { presented }),
    requested_capability: args.required('capability'),
    ...(file === undefined ? {} : { context: await loadStructured(cwd, file) }),
  }
  const connection = await connectAsOperator(context, options)
  const { record, saved } = await saveRecord(cwd, options, () =>
    connection.ask((client) => client.boundary.evaluate(request)),
  )
  return decisionResult(record.decision, { data: record, saved, style })
}
