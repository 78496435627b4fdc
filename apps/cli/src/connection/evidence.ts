import { resolve } from 'node:path'
import type { PlatformEvidence, PlatformSource } from '@chancery/sdk'
import { kubernetesToken, githubToken, spiffeJwt, spiffeX509 } from '@chancery/sdk/platform'
import type { Options } from '../arguments/options.ts'
import type { CommandContext } from '../context.ts'
import { usageError } from '../errors/failure.ts'
import type { Config } from '../files/config.ts'

/** Where GitLab puts the token that the job file names CHANCERY_ID_TOKEN. */
const GITLAB_VARIABLE = 'CHANCERY_ID_TOKEN'
/** Where the how-to mounts the projected token. */
const KUBERNETES_FILE = '/var/run/secrets/tokens/chancery'

/** How a node gets evidence, as its configuration stores it. It has no secret. */
export type StoredEvidence = { readonly rule: string; readonly source: string; readonly file?: string }

/** The options of join; undefined when it uses an invite. */
export function readEvidenceOptions(
  { cwd }: Pick<CommandContext, 'cwd'>,
  options: Options,
): StoredEvidence | undefined {
  const [source, given, rule] = [options.text('platform'), options.text('token-file'), options.text('rule')]
  if (source === undefined) {
    if (rule !== undefined) throw usageError('--rule is for joins by a platform.', 'Give --platform, too.')
    return undefined
  }
  if (rule === undefined)
    throw usageError('--rule must be given.', 'Ask the operator for the name: chancery invite list --rules')
  if (given !== undefined && source !== 'kubernetes' && source !== 'file')
    throw usageError(`--platform ${source} takes no --token-file.`)
  if (given === undefined && source === 'file') throw usageError('--platform file needs --token-file.')
  const file = given === undefined ? undefined : resolve(cwd, given)
  return { rule, source, ...(file === undefined ? {} : { file }) }
}

/** The evidence that the configuration of a node names; undefined when it joined with an invite. */
export function storedEvidence(
  context: Pick<CommandContext, 'env'>,
  { evidence }: Config,
): PlatformEvidence | undefined {
  const { rule, source, file } = evidence
  if (rule === undefined || source === undefined) return undefined
  return toEvidence(context, { rule, source, ...(file === undefined ? {} : { file }) })
}

export function toEvidence({ env }: Pick<CommandContext, 'env'>, stored: StoredEvidence): PlatformEvidence {
  return { rule: stored.rule, source: sourceOf(env, stored) }
}

function sourceOf(env: CommandContext['env'], { source, file }: StoredEvidence): PlatformSource {
  const socket = env['SPIFFE_ENDPOINT_SOCKET']
  const workload = socket === undefined ? {} : { socket }
  switch (source) {
    case 'github':
      return githubToken(env)
    case 'gitlab':
      return () => Promise.resolve({ token: requireVariable(env) })
    case 'kubernetes':
      return kubernetesToken(file ?? KUBERNETES_FILE)
    case 'spiffe':
      return spiffeJwt(workload)
    case 'spiffe-x509':
      return spiffeX509(workload)
    default:
      if (file === undefined) throw usageError('The configuration names no source of evidence.', 'Join again.')
      return kubernetesToken(file)
  }
}

function requireVariable(env: CommandContext['env']): string {
  const token = env[GITLAB_VARIABLE]
  if (token !== undefined && token !== '') return token
  const hint = `Name it in id_tokens of the job file: ${GITLAB_VARIABLE}. See docs/how-to/join-with-a-platform.md.`
  throw usageError(`The environment has no ${GITLAB_VARIABLE}.`, hint)
}
