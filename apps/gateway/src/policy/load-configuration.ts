import { GATEWAY_POLICY_BYTES } from '@chancery/contract'
import type { Instant } from '@chancery/protocol'
import { isLoopback } from '../settings/check-settings.ts'
import type { GatewaySettings } from '../settings/gateway-settings.ts'
import { type Problem, Problems } from './form.ts'
import { chainProblem, readConfigFile, readTextFile, readTlsFiles } from './tls-files.ts'
import type { ReadConfigFile, TlsMaterial } from './tls-files.ts'
import { type OidcPolicy, readOidcFile } from './oidc-file.ts'
import type { Policy } from './policy.ts'
import { readPolicy } from './read-policy.ts'
import { tokenKeyProblems } from './check-token-keys.ts'

/** Content of all files, read and used together. */
export interface Configuration {
  readonly policy: Policy
  readonly oidc: OidcPolicy | undefined
  readonly tls: TlsMaterial | undefined
  readonly redisUrl: string | undefined
  readonly auditToken: string | undefined
  /** GATEWAY_CA_FILE as PEM. */
  readonly extraRoots: readonly string[]
}

/** A problem, with the setting that names its file. */
export interface ConfigurationProblem extends Problem {
  readonly setting: string
}

export interface LoadedConfiguration {
  readonly configuration: Configuration | undefined
  readonly problems: readonly ConfigurationProblem[]
  readonly warnings: readonly string[]
}

const OIDC_BYTES = 1_048_576
const SECRET_BYTES = 65_536

/** Reads every file that the settings name, and collects all problems (protocol/gateway 3, 18.2). */
export function loadConfiguration(
  settings: GatewaySettings,
  now: Instant,
  read: ReadConfigFile = readConfigFile,
): LoadedConfiguration {
  const loader = new ConfigurationLoader(settings, now, read)
  const policy = loader.policy()
  const oidc = loader.oidc(policy)
  loader.checkReachable(policy, oidc)
  loader.checkProxies(policy)
  const rest = {
    tls: loader.tls(),
    redisUrl: loader.redisUrl(),
    auditToken: loader.secret('GATEWAY_AUDIT_TOKEN_FILE', settings.auditTokenFile),
    extraRoots: loader.extraRoots(),
  }
  loader.checkTokenKeys(policy, rest.tls)
  const { problems, warnings } = loader
  const isWhole = problems.length === 0 && policy !== undefined
  return { problems, warnings, configuration: isWhole ? { policy, oidc, ...rest } : undefined }
}

class ConfigurationLoader {
  readonly problems: ConfigurationProblem[] = []
  readonly warnings: string[] = []
  readonly #settings: GatewaySettings
  readonly #now: Instant
  readonly #readFile: ReadConfigFile

  constructor(settings: GatewaySettings, now: Instant, read: ReadConfigFile) {
    this.#settings = settings
    this.#now = now
    this.#readFile = read
  }

  policy(): Policy | undefined {
    const bytes = this.#read('GATEWAY_POLICY_FILE', this.#settings.policyFile, GATEWAY_POLICY_BYTES)
    if (bytes === undefined) return undefined
    return this.#collect('GATEWAY_POLICY_FILE', (problems) => {
      const { policy, warnings } = readPolicy(bytes, problems, (file, kind) => this.#readNamed(file, kind))
      this.warnings.push(...warnings)
      return policy
    })
  }

  oidc(policy: Policy | undefined): OidcPolicy | undefined {
    const bytes = this.#read('GATEWAY_OIDC_FILE', this.#settings.oidcFile, OIDC_BYTES)
    if (bytes === undefined || policy === undefined) return undefined
    const ids = new Set(policy.clients.map(({ id }) => id))
    return this.#collect('GATEWAY_OIDC_FILE', (problems) => readOidcFile(bytes, problems, ids))
  }

  /** Requires a digest or an OIDC binding of every client. Without both no caller could use the client. */
  checkReachable(policy: Policy | undefined, oidc: OidcPolicy | undefined): void {
    const bound = new Set([...(oidc?.bindings.values() ?? [])].map(({ clientId }) => clientId))
    for (const [index, client] of (policy?.clients ?? []).entries()) {
      if (client.tokenDigests.length > 0 || bound.has(client.id)) continue
      this.#add(
        'GATEWAY_POLICY_FILE',
        `clients[${index}].token_sha256`,
        'is required for a client without OIDC binding',
      )
    }
  }

  /** The HTTP check needs its part of the policy, and beyond loopback the certificates of its proxies. */
  checkProxies(policy: Policy | undefined): void {
    const { checkAddress, checkGrpcAddress } = this.#settings
    if (policy === undefined) return
    const [setting, { check }] = ['GATEWAY_POLICY_FILE', policy]
    if (checkAddress === undefined && checkGrpcAddress === undefined) {
      if (check !== undefined) this.warnings.push('check: has no effect without GATEWAY_CHECK_ADDR')
      return
    }
    if (check === undefined) this.#add(setting, 'check', 'is required with GATEWAY_CHECK_ADDR')
    else if (checkAddress !== undefined && !isLoopback(checkAddress.host) && check.proxyCertificates.length === 0)
      this.#add(setting, 'check.proxy_cert_sha256', 'is required when GATEWAY_CHECK_ADDR is not a loopback address')
  }

  /** Keys for access tokens sign now, and are used for nothing else. */
  checkTokenKeys(policy: Policy | undefined, tls: TlsMaterial | undefined): void {
    if (policy?.oauth === undefined) return
    for (const problem of tokenKeyProblems(policy.oauth, policy, tls, this.#now))
      this.#add('GATEWAY_POLICY_FILE', 'oauth.signing_keys', problem)
  }

  tls(): TlsMaterial | undefined {
    const found = readTlsFiles(this.#settings, this.#now, this.#readFile)
    if (!Array.isArray(found)) {
      this.#warnIfOpen('GATEWAY_TLS_KEY_FILE', this.#settings.tlsKeyFile)
      return found as TlsMaterial | undefined
    }
    for (const { setting, message } of found) this.#add(setting, '', message)
    return undefined
  }

  redisUrl(): string | undefined {
    const text = this.secret('GATEWAY_REDIS_URL_FILE', this.#settings.redisUrlFile)
    if (text === undefined) return undefined
    const url = URL.canParse(text) ? new URL(text) : undefined
    if (url === undefined || !/^rediss?:$/.test(url.protocol)) {
      this.#add('GATEWAY_REDIS_URL_FILE', '', 'must contain one redis:// or rediss:// URL')
      return undefined
    }
    const isLocal = /^(?:localhost|127\.[0-9.]+|\[::1\])$/.test(url.hostname)
    if (url.protocol === 'redis:' && !isLocal && this.#settings.redisPlaintext === 'refuse') {
      this.#add('GATEWAY_REDIS_URL_FILE', '', 'must be rediss:// beyond this machine (or set GATEWAY_REDIS_PLAINTEXT)')
    }
    return text
  }

  extraRoots(): readonly string[] {
    const { caFile } = this.#settings
    if (caFile === undefined) return []
    const pem = readTextFile(caFile, OIDC_BYTES, this.#readFile)
    const problem = pem === undefined ? 'cannot be read' : chainProblem(pem, this.#now)
    if (problem !== undefined) this.#add('GATEWAY_CA_FILE', '', problem)
    return pem === undefined ? [] : [pem]
  }

  /** Returns the trimmed text of a secret file. */
  secret(setting: string, file: string | undefined): string | undefined {
    if (file === undefined) return undefined
    const text = readTextFile(file, SECRET_BYTES, this.#readFile)?.trim()
    if (text === undefined || text === '' || /\s/.test(text))
      this.#add(setting, '', 'cannot be read or is not one line')
    this.#warnIfOpen(setting, file)
    return text
  }

  #readNamed(file: string, kind: 'secret' | 'record' | undefined): string | undefined {
    if (kind === undefined) return this.#readPem(file)
    const content = this.#readFile(file, { maxBytes: SECRET_BYTES, isWriteProtected: true })
    if ('problem' in content || (kind === 'secret' && content.isOpenToReaders)) return undefined
    return Buffer.from(content.bytes).toString('utf8')
  }

  #readPem(file: string): string | undefined {
    const pem = readTextFile(file, OIDC_BYTES, this.#readFile)
    return pem !== undefined && chainProblem(pem, this.#now) === undefined ? pem : undefined
  }

  #read(setting: string, file: string | undefined, maxBytes: number): Uint8Array | undefined {
    if (file === undefined) return undefined
    const content = this.#readFile(file, { maxBytes, isWriteProtected: true })
    if ('bytes' in content) return content.bytes
    this.#add(setting, '', content.problem)
    return undefined
  }

  #warnIfOpen(setting: string, file: string | undefined): void {
    if (file === undefined) return
    const content = this.#readFile(file, { maxBytes: OIDC_BYTES, isWriteProtected: false })
    if ('bytes' in content && content.isOpenToReaders) this.warnings.push(`${setting}: others may read the file`)
  }

  #collect<Value>(setting: string, read: (problems: Problems) => Value): Value {
    const problems = new Problems()
    const value = read(problems)
    for (const { path, message } of problems.list) this.#add(setting, path, message)
    return value
  }

  #add(setting: string, path: string, message: string): void {
    this.problems.push({ setting, path, message })
  }
}
