import { connectAsOperator } from '../../connection.ts'
import type { CommandContext, Result } from '../../context.ts'
import { loadJsonObject } from '../../json-file.ts'
import { keepRecord } from '../../kept-record.ts'
import type { Arguments, Options } from '../../options.ts'
import { describeLicense } from './describe.ts'

/** data-usage policy: sends the file as it is; the authority reads, signs and activates it. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const terms = await loadJsonObject(cwd, args.required('file'))
  const connection = await connectAsOperator(context, options)
  const { record: policy, kept } = await keepRecord(cwd, options, () =>
    connection.ask((client) => client.dataUsage.publish(terms)),
  )
  const text = `${style.good('Published')} and active:\n${describeLicense(policy, style)}${kept}`
  return { data: policy, text }
}
