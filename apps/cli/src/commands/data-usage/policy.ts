import type { LicenseRequest } from '@chancery/sdk'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { loadJsonObject } from '../../files/json-file.ts'
import { saveRecord } from '../../files/save-record.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { describeLicense } from './describe.ts'

/** Runs `data-usage policy`: sends the file unchanged; the authority reads, signs and activates it. */
export async function runDataUsagePolicy(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const terms = (await loadJsonObject(cwd, args.required('file'))) as LicenseRequest
  const connection = await connectAsOperator(context, options)
  const { record: policy, saved } = await saveRecord(cwd, options, () =>
    connection.ask((client) => client.dataUsage.publish(terms)),
  )
  const text = `${style.good('Published')} and active:\n${describeLicense(policy, style)}${saved}`
  return { data: policy, text }
}
