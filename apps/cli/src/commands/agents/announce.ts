import type { CommandContext, Result } from '../../context.ts'
import { connectAsNode } from '../../node-home.ts'
import type { Arguments, Options } from '../../options.ts'
import { reporter } from '../../output/events.ts'
import { fields } from '../../output/table.ts'
import { Announcement } from './announcement.ts'
import { endpointText } from './endpoint.ts'
import { readAgentFacts } from './facts.ts'

/** agent announce: stays and keeps the agent registered; with --once it announces and ends. */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const connection = await connectAsNode(context, options)
  const facts = await readAgentFacts(context, options, connection.genesis.network_name)
  if (options.isSet('once')) {
    const { descriptor, expires_at } = await connection.ask((client) => client.agents.register(facts))
    const rows = fields(
      [
        ['capabilities', descriptor.capabilities.join(', ') || '-'],
        ['endpoint', endpointText(descriptor.endpoint)],
        ['until', expires_at],
        ['node key', descriptor.node_public_key],
      ],
      context.style,
    )
    return { data: { expires_at, descriptor }, text: `${context.style.good('Announced')} ${facts.agent_id}.\n${rows}` }
  }
  const [client, report, stop] = [connection.client(), reporter(context), context.stop()]
  const announcement = new Announcement({ context, client, report, stop, facts })
  while (!stop.aborted) {
    await announcement.step()
    await context.sleep(announcement.restMs(), stop)
  }
  await announcement.withdraw()
  report({ event: 'stopped', text: 'told to stop' })
  return {}
}
