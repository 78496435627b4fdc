import { type BoundaryPolicy, detectRecordKind, findPolicyWarnings, visible } from '@chancery/protocol'
import type { PolicySimulation } from '@chancery/sdk/authority'
import { type Result, type Style, fields, plural } from '../../output/screen.ts'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { usageError } from '../../errors/failure.ts'
import { Arguments, type Options } from '../../arguments/options.ts'
import { publishLicense } from '../data-usage/data-usage.ts'
import { publishNetworkPolicy } from '../network-policy/network-policy.ts'
import { publishRecognition } from '../recognition-policy/publish.ts'
import { runPolicyActivate, validatePolicy } from './boundary-policies.ts'
import { chooseRequests, loadCedarTexts, loadIntent, nameTexts } from './cedar.ts'
import { shellWord } from '../../output/shell-word.ts'
import { loadStructured, saveRecord } from '../../files/json-file.ts'

function describePolicy(policy: BoundaryPolicy, style: Style): string {
  return fields(
    [
      ['policy', `${policy.policy_id} version ${policy.version}`],
      ['description', policy.description === '' ? '-' : policy.description],
      ['valid', `${policy.valid_from} to ${policy.valid_until}`],
      ...policy.gates
        .toSorted((a, b) => a.order - b.order)
        .map(({ gate_id, gate_type, mode }) => [gate_id, `${gate_type}, ${mode}`] as const),
    ],
    style,
  )
}

/** Returns the effect of a policy as text. */
export function describeSimulation(simulation: PolicySimulation): readonly string[] {
  const { total, newly_allowed, newly_denied, newly_held, unchanged, sample, candidate_set_healthy } = simulation
  const { external_facts_missing: missing } = simulation
  const lines = [
    `Of ${plural(total, 'request')}: ${newly_denied} newly denied, ${newly_allowed} newly allowed, ${newly_held === 0 ? '' : `${newly_held} newly held, `}${unchanged} as now.`,
    ...sample.map(
      ({ index, change, candidate }) =>
        `  request ${index + 1}: ${change.replace('_', ' ')}${
          candidate.denial_reason === null ? '' : `, ${visible(candidate.denial_reason)}`
        }`,
    ),
  ]
  const left = newly_allowed + newly_denied + newly_held - sample.length
  if (left > 0) lines.push(`  and ${left} more`)
  if (missing > 0) lines.push(`For ${plural(missing, 'request')} an external fact is not known; its gate denies.`)
  if (!candidate_set_healthy) lines.push('With it in force the active set would be unhealthy and deny everything.')
  return lines
}

/** `policy publish --dry-run` with requests: how they would be decided. */
async function simulate(context: CommandContext, file: string, options: Options): Promise<Result> {
  const { cwd } = context
  const intent = nameTexts(await loadIntent(cwd, file), await loadCedarTexts(cwd, options))
  const requests = await chooseRequests(cwd, options)
  if (requests === undefined) throw usageError('Give --contexts <file> or --decisions.')
  const connection = await connectAsOperator(context, options)
  const found = await connection.ask((client) => client.boundaryPolicies.simulate({ intent, ...requests }))
  return { data: found, text: `${describeSimulation(found).join('\n')}\nNothing was changed.` }
}

/** Runs `policy publish`: the fields of the file say of which kind it is. */
export async function runPolicyPublish(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const file = args.required('file')
  const value = await loadStructured(context.cwd, file)
  const has = (name: string): boolean => Object.hasOwn(value, name)
  if (has('gates') || has('policy') || has('intent')) return publishBoundary(context, args, options)
  const ofBoundary = ['decisions', 'contexts', 'cedar', 'schema', 'activate'].find((name) => options.isSet(name))
  if (ofBoundary !== undefined) throw usageError(`--${ofBoundary} is for boundary policies. ${file} is none.`)
  if (has('recognized_issuers') || has('recognition_policy')) return publishRecognition(context, file, options)
  const record = detectRecordKind(value)
  if (record !== undefined && record !== 'policy-manifest' && record !== 'data-license-policy')
    throw usageError(
      `${file} is a ${record.replaceAll('-', ' ')}, not a policy.`,
      'Start from an example: chancery policy new --name invoices',
    )
  if (has('licensee_sovereign_id') || has('allowed_source_ids')) return publishLicense(context, file, options)
  return publishNetworkPolicy(context, file, options)
}

/** Signs and stores; the policy has no effect until it is activated. */
async function publishBoundary(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const [file, isCompared] = [args.required('file'), options.isSet('decisions') || options.isSet('contexts')]
  if (options.isSet('dry-run'))
    return isCompared ? simulate(context, file, options) : validatePolicy(context, file, options)
  if (isCompared && !options.isSet('activate'))
    throw usageError('--decisions and --contexts need --dry-run or --activate.')
  const intent = nameTexts(await loadIntent(cwd, file), await loadCedarTexts(cwd, options))
  const connection = await connectAsOperator(context, options)
  const { record, saved } = await saveRecord(cwd, options, () =>
    connection.ask((client) => client.boundaryPolicies.publish(intent)),
  )
  const { policy_id, version } = record
  if (options.isSet('activate')) {
    const words = new Arguments(
      new Map([
        ['policy', [policy_id]],
        ['version', [String(version)]],
      ]),
    )
    return runPolicyActivate(context, words, options.with({ 'dry-run': undefined }))
  }
  const next = `Not in force yet: ${context.again(`chancery policy activate ${shellWord(policy_id)} ${version}`)}`
  const warnings = findPolicyWarnings(record).map(({ message }) => `\n${style.warn('Warning:')} ${visible(message)}`)
  const text = `${style.good('Published:')}\n${describePolicy(record, style)}${saved}${warnings.join('')}\n${next}`
  return { data: record, ids: [policy_id], text }
}
