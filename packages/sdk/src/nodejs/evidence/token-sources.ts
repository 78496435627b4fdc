import type { Fetch } from '../../http/transport.ts'
import { EvidenceError, type EvidenceSource } from '../../node/evidence.ts'
import { readFile } from 'node:fs/promises'

const MAX_CHARACTERS = 8192

/** A token in a file, such as a projected token of Kubernetes. Read each time: the platform replaces it. */
export function fileEvidence(path: string): EvidenceSource {
  return async () => {
    let text: string
    try {
      text = await readFile(path, 'utf8')
    } catch (error) {
      throw new EvidenceError(`The token file ${path} cannot be read. Is it mounted into this container?`, {
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
    throw new EvidenceError(`${place} has no token.`)
  return token
}

type Environment = Readonly<Record<string, string | undefined>>

const TIMEOUT_MS = 15_000

/** Asks the runner of GitHub Actions for a token with the bound audience. The job needs `id-token: write`. */
export function githubEvidence(env: Environment, fetch: Fetch = globalThis.fetch): EvidenceSource {
  return async ({ bound }) => {
    const [address, secret] = [env['ACTIONS_ID_TOKEN_REQUEST_URL'], env['ACTIONS_ID_TOKEN_REQUEST_TOKEN']]
    if (address === undefined || secret === undefined || !URL.canParse(address))
      throw new EvidenceError('This job may not ask for a token. Give it the permission id-token: write.')
    const url = new URL(address)
    url.searchParams.set('audience', bound)
    const answer = await fetch(url.href, {
      headers: { authorization: `Bearer ${secret}`, accept: 'application/json' },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    if (!answer.ok) throw new EvidenceError(`The runner gave no token (status ${answer.status}).`)
    const { value } = (await answer.json()) as { readonly value?: unknown }
    return { token: requireToken(typeof value === 'string' ? value : '', 'The answer of the runner') }
  }
}
