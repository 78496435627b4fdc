import { connectAsOperator } from '../../connection.ts'
import type { CommandContext, Result } from '../../context.ts'
import { loadJsonObject } from '../../json-file.ts'
import { keepRecord } from '../../kept-record.ts'
import type { Arguments, Options } from '../../options.ts'
import { describeIntent } from './describe.ts'

/** data-usage intent: sends the file as it is; the authority signs in the name of its sovereign. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const request = await loadJsonObject(cwd, args.required('file'))
  const connection = await connectAsOperator(context, options)
  const { record: intent, kept } = await keepRecord(cwd, options, () =>
    connection.ask((client) => client.dataUsage.declare(request)),
  )
  return { data: intent, text: `${style.good('Declared:')}\n${describeIntent(intent, style)}${kept}` }
}
