import { canonicalJson, visible } from '@chancery/protocol'
import { connect } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { loadPublicKey } from '../../files/keys.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { fields } from '../../output/table.ts'
import { endpointText } from './endpoint.ts'
import { verifyAgent, toJson, verdictText } from './verify-agent.ts'

/** Runs `agent show`: prints one public registration. */
export async function runAgentShow(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const key = await loadPublicKey(context.cwd, 'The key', args.required('key'))
  const connection = await connect(context, options)
  const descriptor = await connection.ask((client) => client.agents.find(key))
  const verified = await verifyAgent(descriptor, { genesis: connection.genesis, now: context.now() })
  const isOther = descriptor.node_public_key !== key
  const verdict = isOther ? { descriptor, problem: 'it is the registration of another key' } : verified
  const rows = fields(
    [
      ['network', descriptor.network_name],
      ['capabilities', descriptor.capabilities.join(', ') || '-'],
      ['endpoint', endpointText(descriptor.endpoint)],
      ['announced', descriptor.registered_at],
      ['until', descriptor.expires_at],
      ['metadata', Object.keys(descriptor.metadata).length === 0 ? '-' : canonicalJson(descriptor.metadata)],
      ['node key', descriptor.node_public_key],
      ['signature', verdictText(verdict)],
    ],
    context.style,
  )
  const text = `${context.style.title(visible(descriptor.agent_id))}\n${rows}`
  return { data: toJson(verdict), text, exitCode: verdict.problem === undefined ? 0 : 1 }
}
