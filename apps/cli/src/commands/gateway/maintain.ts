import { CommandError } from '../../errors/failure.ts'
import type { Options } from '../../arguments/options.ts'

const load = () => import('@chancery/gateway')

type Commands = Awaited<ReturnType<typeof load>>['commands']
type Settings = Awaited<ReturnType<Commands['loadSettings']>>

/** Loads the gateway and its settings for one of its tools. Errors that an operator can fix become a CommandError. */
export async function withGateway<Value>(
  options: Options,
  use: (commands: Commands, settings: Settings) => Promise<Value>,
): Promise<Value> {
  const { commands } = await load()
  try {
    return await use(commands, await commands.loadSettings(options.text('env-file')))
  } catch (error) {
    throw toToolError(error, commands)
  }
}

/** Returns a CommandError for an error that the gateway explains, one problem per line; any other error unchanged. */
export function toToolError(error: unknown, { expectedLines }: Pick<Commands, 'expectedLines'>): unknown {
  const [message, ...problems] = expectedLines(error) ?? []
  if (message === undefined) return error
  return new CommandError({ code: 'gateway_tool_failed', message, problems }, { cause: error })
}
