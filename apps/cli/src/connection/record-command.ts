import { asJson } from '@chancery/protocol'
import type { Client } from '@chancery/sdk/authority'
import type { Options } from '../arguments/options.ts'
import type { CommandContext } from '../context.ts'
import { saveRecord } from '../files/json-file.ts'
import { type Members, type Result, fields } from '../output/screen.ts'
import { connectAsOperator } from './connection.ts'

/** How a command shows a record that the authority signed for it. */
interface Shown<Value> {
  readonly title: string
  readonly members: (record: Value) => Members
  /** Printed with --quiet. */
  readonly id?: (record: Value) => string
}

/** Asks the authority as operator for a signed record, writes it to the file of --out, and shows it or prints it. */
export async function issueRecord<Value extends object>(
  context: CommandContext,
  options: Options,
  issue: (client: Client) => Promise<Value>,
  { title, members, id }: Shown<Value>,
): Promise<Result> {
  const { cwd, style } = context
  const connection = await connectAsOperator(context, options)
  const { record, saved } = await saveRecord(cwd, options, () => connection.ask(issue))
  const text = `${style.good(title)}\n${fields(members(record), style)}${saved}`
  return { data: asJson(record), ...(id === undefined ? {} : { ids: [id(record)] }), text }
}
