import type { IntentRequest } from '@chancery/sdk'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { loadJsonObject } from '../../files/json-file.ts'
import { saveRecord } from '../../files/save-record.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { describeIntent } from './describe.ts'

/** Runs `data-usage intent`: sends the file unchanged; the authority signs for its network. */
export async function runDataUsageIntent(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const request = (await loadJsonObject(cwd, args.required('file'))) as IntentRequest
  const connection = await connectAsOperator(context, options)
  const { record: intent, saved } = await saveRecord(cwd, options, () =>
    connection.ask((client) => client.dataUsage.intent(request)),
  )
  return { data: intent, text: `${style.good('Declared:')}\n${describeIntent(intent, style)}${saved}` }
}
