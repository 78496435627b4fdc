import { canonicalJson, visible } from '@chancery/protocol'
import { connect } from '../../connection.ts'
import type { CommandContext, Result } from '../../context.ts'
import { loadPublicKey } from '../../keys.ts'
import type { Arguments, Options } from '../../options.ts'
import { fields } from '../../output/table.ts'
import { endpointText } from './endpoint.ts'
import { judge, toJson, verdictText } from './judge.ts'

/** agent show: one registration, as everybody sees it. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const key = await loadPublicKey(context.cwd, 'The key', args.required('key'))
  const connection = await connect(context, options)
  const descriptor = await connection.ask((client) => client.agents.find(key))
  const judged = await judge(descriptor, { genesis: connection.genesis, now: context.now() })
  const isOther = descriptor.node_public_key !== key
  const verdict = isOther ? { descriptor, problem: 'it is the registration of another key' } : judged
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
