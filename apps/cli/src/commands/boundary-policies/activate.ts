import { visible } from '@chancery/protocol'
import { type Connection, connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { CommandError } from '../../errors/failure.ts'
import { type Preview, previewThenConfirm } from '../../prompts/preview.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { describeSimulation } from './describe.ts'
import { chooseRequests, toIntent } from './policy-file.ts'
import { readVersion } from './version.ts'

/** Runs `boundary-policy activate`: shows which decisions would change, asks, then activates. */
export async function runBoundaryPolicyActivate(
  context: CommandContext,
  args: Arguments,
  options: Options,
): Promise<Result> {
  const [id, version] = [args.required('policy_id'), readVersion(args)]
  const connection = await connectAsOperator(context, options)
  const { preview, only } = await previewThenConfirm(context, options, {
    preview: () => previewActivation(context, connection, options, { id, version }),
    question: `Put ${visible(id)} version ${version} in force at ${connection.url}?`,
  })
  if (only !== undefined) return only
  const done = await connection.ask((client) => client.boundaryPolicies.activate(id, { version }))
  const before = done.previous_version
  const rest =
    before === null ? '' : before === version ? ' It was in force already.' : ` Version ${before} is out of force.`
  const text = `${context.style.good('In force:')} ${visible(id)} version ${version}.${rest}`
  return { data: { ...done, simulation: preview.data }, ids: [id], text }
}

/** Simulates the stored version; without contexts there is nothing to compare. */
async function previewActivation(
  { cwd }: CommandContext,
  connection: Connection,
  options: Options,
  { id, version }: { readonly id: string; readonly version: number },
): Promise<Preview> {
  const { versions } = await connection.ask((client) => client.boundaryPolicies.history(id, { limit: 1000 }))
  const found = versions.find((each) => each.version === version)
  const inForce = versions.find((each) => each.active)?.version
  const now = inForce === undefined ? 'None is in force now.' : `Version ${inForce} is in force now.`
  const requests = await chooseRequests(cwd, options)
  if (requests === undefined) {
    const lines = [
      `${visible(id)} version ${version}: ${now}`,
      'Not simulated: give requests with --contexts or --decisions.',
    ]
    return { data: {}, lines }
  }
  if (found?.policy === undefined || found.policy === null)
    throw new CommandError({
      code: 'boundary_policy_not_found',
      message: `There is no usable version ${version} of ${visible(id)}.`,
    })
  const intent = toIntent(found.policy)
  const simulation = await connection.ask((client) => client.boundaryPolicies.simulate({ intent, ...requests }))
  return { data: simulation, lines: [`${visible(id)} version ${version}: ${now}`, ...describeSimulation(simulation)] }
}
