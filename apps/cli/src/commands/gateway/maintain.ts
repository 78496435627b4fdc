import { Failure } from '../../failure.ts'
import type { Options } from '../../options.ts'

const load = () => import('@chancery/gateway')

type Commands = Awaited<ReturnType<typeof load>>['commands']
type Settings = Awaited<ReturnType<Commands['loadSettings']>>

/** Loads the gateway and its settings for one of its tools; what an operator can mend becomes a plain failure. */
export async function withGateway<Value>(
  options: Options,
  use: (commands: Commands, settings: Settings) => Promise<Value>,
): Promise<Value> {
  const { commands } = await load()
  try {
    return await use(commands, await commands.loadSettings(options.text('env-file')))
  } catch (error) {
    const lines = commands.expectedLines(error)
    if (lines === undefined) throw error
    throw new Failure({ code: 'gateway_tool_failed', message: lines.join('\n') }, { cause: error })
  }
}
