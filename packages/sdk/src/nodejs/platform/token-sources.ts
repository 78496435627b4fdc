import type { Fetch } from '../../http/transport.ts'
import { PlatformError, type PlatformSource, boundAudience } from '../../node/evidence.ts'
import { readFile } from 'node:fs/promises'

const MAX_CHARACTERS = 8192

/** A token in a file, such as a projected token of Kubernetes. Read each time: the platform replaces it. */
export function kubernetesToken(path: string): PlatformSource {
  return async () => {
    let text: string
    try {
      text = await readFile(path, 'utf8')
    } catch (error) {
      throw new PlatformError(`The token file ${path} cannot be read. Is it mounted into this container?`, {
        cause: error,
      })
    }
    return { token: requireToken(text, `The file ${path}`) }
  }
}

/** One word; what it is must not be in the message. */
function requireToken(text: string, place: string): string {
  const token = text.trim()
  if (token === '' || token.length > MAX_CHARACTERS || /\s/.test(token))
    throw new PlatformError(`${place} has no token.`)
  return token
}

/** An ID token of a job of GitLab, which `id_tokens` of the job puts into a variable. Its audience is fixed there. */
export function gitlabToken(variable = 'CHANCERY_ID_TOKEN', env: Environment = process.env): PlatformSource {
  return () => Promise.resolve({ token: requireToken(env[variable] ?? '', `The variable ${variable}`) })
}

type Environment = Readonly<Record<string, string | undefined>>

const TIMEOUT_MS = 15_000

/** Asks the runner of GitHub Actions for a token whose audience names the node key. The job needs `id-token: write`. */
export function githubToken(env: Environment = process.env, fetch: Fetch = globalThis.fetch): PlatformSource {
  return async (audience) => {
    const [address, secret] = [env['ACTIONS_ID_TOKEN_REQUEST_URL'], env['ACTIONS_ID_TOKEN_REQUEST_TOKEN']]
    if (address === undefined || secret === undefined || !URL.canParse(address))
      throw new PlatformError('This job may not ask for a token. Give it the permission id-token: write.')
    const url = new URL(address)
    url.searchParams.set('audience', boundAudience(audience))
    const answer = await fetch(url.href, {
      headers: { authorization: `Bearer ${secret}`, accept: 'application/json' },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    if (!answer.ok) throw new PlatformError(`The runner gave no token (status ${answer.status}).`)
    const { value } = (await answer.json()) as { readonly value?: unknown }
    return { token: requireToken(typeof value === 'string' ? value : '', 'The answer of the runner') }
  }
}
