import { visible } from '@chancery/protocol'
import { type Connection, connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/screen.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { type Preview, missingRecord, previewThenConfirm, requireConsent } from '../../prompts/preview.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { rollBack } from '../network-policy/network-policy.ts'
import { describeSimulation } from './describe.ts'
import { chooseRequests, loadCedarTexts, loadIntent, nameTexts, toIntent } from './cedar.ts'

function readVersion(args: Arguments): number {
  const text = args.required('version')
  if (!/^[1-9][0-9]{0,14}$/.test(text)) throw usageError('A version is a whole number, at least 1.')
  return Number(text)
}

/** Runs `policy activate`: shows which decisions would change, asks, then activates. */
export async function runPolicyActivate(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  if (args.required('policy') === 'network') return rollBack(context, args.required('version'), options)
  const [id, version] = [args.required('policy'), readVersion(args)]
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

/** Runs `policy deactivate`: it removes rules, so it asks first. */
export async function runPolicyDeactivate(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const [id, version] = [args.required('policy'), readVersion(args)]
  const connection = await connectAsOperator(context, options)
  if (options.isSet('dry-run')) {
    const text = `Would take ${visible(id)} version ${version} out of force at ${connection.url}.\nNothing was changed.`
    return { data: { dry_run: true, policy_id: id, version }, text }
  }
  const question = `Take ${visible(id)} version ${version} out of force at ${connection.url}?`
  await requireConsent(context, options, question, async () => {
    const { versions } = await connection.ask((client) => client.boundaryPolicies.history(id, { limit: 1000 }))
    if (!versions.some((each) => each.version === version)) throw missingRecord('boundary_policy_not_found')
  })
  const done = await connection.ask((client) => client.boundaryPolicies.deactivate(id, { version }))
  return { data: done, ids: [id], text: `${context.style.good('Out of force:')} ${visible(id)} version ${version}.` }
}

/** `policy publish --dry-run`; the exit code is 1 when there are issues. */
export async function validatePolicy(context: CommandContext, file: string, options: Options): Promise<Result> {
  const { cwd, style } = context
  const intent = nameTexts(await loadIntent(cwd, file), await loadCedarTexts(cwd, options))
  const connection = await connectAsOperator(context, options)
  const found = await connection.ask((client) => client.boundaryPolicies.validate(intent))
  if (found.valid) {
    const text = `${style.good('Valid:')} ${visible(found.policy_id)} would become version ${found.next_version}.`
    const warnings = found.warnings.map(({ message }) => `\n${style.warn('Warning:')} ${visible(message)}`)
    return { data: found, text: `${text}${warnings.join('')}` }
  }
  const lines = found.issues.map(
    ({ code, message, gate_id }) =>
      `  ${gate_id === null ? '' : `${visible(gate_id)}: `}${visible(message)} (${visible(code)})`,
  )
  return { data: found, text: [style.bad('Not valid:'), ...lines].join('\n'), exitCode: 1 }
}
