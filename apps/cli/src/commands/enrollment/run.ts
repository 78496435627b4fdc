import type { CommandContext, Result } from '../../context.ts'
import { connectAsNode } from '../../node-home.ts'
import type { Arguments, Options } from '../../options.ts'
import { reporter } from '../../output/events.ts'
import { FollowedLists } from './follow-lists.ts'
import { NodeLife } from './node-life.ts'

/** node run: stays until it is told to stop, or until the certificate cannot be saved any more. */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const connection = await connectAsNode(context, options)
  const [client, report, stop] = [connection.client(), reporter(context), context.stop()]
  const lists = await FollowedLists.open({ connection, client, report, stop })
  const life = await NodeLife.begin({
    context,
    connection,
    client,
    report,
    stop,
    lists,
    status: options.textOrDefault('status'),
  })
  while (!stop.aborted) {
    await life.step()
    await context.sleep(life.restMs(), stop)
  }
  report({ event: 'stopped', text: 'told to stop' })
  return {}
}
