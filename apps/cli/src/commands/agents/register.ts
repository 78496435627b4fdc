import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { connectAsNode } from '../../connection/node-folder.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { reporter } from '../../output/events.ts'
import { fields } from '../../output/table.ts'
import { Registration } from './registration.ts'
import { endpointText } from './endpoint.ts'
import { readAgentFacts } from './facts.ts'

/** Runs `agent register`: refreshes the registration until stopped; with --once it registers and exits. */
export async function runAgentRegister(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
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
    return {
      data: { expires_at, descriptor },
      ids: [facts.agent_id],
      text: `${context.style.good('Registered')} ${facts.agent_id}.\n${rows}`,
    }
  }
  const [client, report, stop] = [connection.client(), reporter(context), context.stop()]
  const registration = new Registration({ context, client, report, stop, facts })
  while (!stop.aborted) {
    await registration.step()
    await context.sleep(registration.nextDelayMs(), stop)
  }
  await registration.remove()
  report({ event: 'stopped', text: 'stopped by a signal' })
  return {}
}
