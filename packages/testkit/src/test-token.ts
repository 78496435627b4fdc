import { execFileSync } from 'node:child_process'
import { createPrivateKey } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const MODULE = '/usr/lib/softhsm/libsofthsm2.so'
const PIN = '943182'
const OFFICER_PIN = '5678'
const TOKEN_LABEL = 'chancery-test'

/** Why no token can be made here; undefined when one can. The build server must have one: there it is a failure. */
export function findTokenObstacle(): string | undefined {
  const obstacle = !existsSync(MODULE) ? 'softhsm2 is not installed: apt-get install softhsm2 opensc' : findUnbuilt()
  if (obstacle !== undefined && process.env['CI'] === 'true')
    throw new Error(`no PKCS#11 test may be left out: ${obstacle}`)
  if (obstacle !== undefined) process.stderr.write(`PKCS#11 IS NOT TESTED: ${obstacle}\n`)
  return obstacle
}

function findUnbuilt(): string | undefined {
  try {
    createRequire(import.meta.url)('pkcs11js')
    return undefined
  } catch {
    return 'pkcs11js is not built: npm run build:pkcs11'
  }
}

/** A SoftHSM token of one test's own. Keys are made and put in by the tools of SoftHSM and OpenSC, not by our code. */
export class TestToken {
  /** A library reads it once, when it is loaded: one token folder per process. */
  readonly configFile: string
  readonly modulePath = MODULE
  readonly pin = PIN
  readonly pinFile: string
  readonly #folder: string

  constructor(folder: string = mkdtempSync(join(tmpdir(), 'chancery-token-'))) {
    this.#folder = folder
    this.configFile = join(folder, 'softhsm2.conf')
    this.pinFile = join(folder, 'pin')
    writeFileSync(this.pinFile, `${PIN}\n`, { mode: 0o600 })
    if (existsSync(this.configFile)) return
    mkdirSync(join(folder, 'tokens'), { recursive: true })
    const lines = [
      `directories.tokendir = ${join(folder, 'tokens')}`,
      'objectstore.backend = file',
      'log.level = ERROR',
    ]
    writeFileSync(this.configFile, `${lines.join('\n')}\n`)
    this.#run('softhsm2-util', [
      '--init-token',
      '--free',
      '--label',
      TOKEN_LABEL,
      '--pin',
      PIN,
      '--so-pin',
      OFFICER_PIN,
    ])
  }

  settings(keyLabel: string): Record<string, string> {
    return {
      NA_KEY_PROVIDER: 'pkcs11',
      NA_KEY_URI: `pkcs11:token=${TOKEN_LABEL};object=${keyLabel}?module-path=${MODULE}`,
      NA_KEY_TOKEN_FILE: this.pinFile,
    }
  }

  /** Makes a key inside the token, as an operator would. */
  generate(label: string, ...more: readonly string[]): void {
    this.tool('--keypairgen', '--key-type', 'EC:edwards25519', '--label', label, ...more)
  }

  /** Puts in a key whose seed the test knows. */
  import(label: string, seed: string, id = '01'): void {
    const prefix = Buffer.from('302e020100300506032b657004220420', 'hex')
    const der = Buffer.concat([prefix, Buffer.from(seed, 'base64')])
    const pem = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }).export({ format: 'pem', type: 'pkcs8' })
    const file = join(this.#folder, 'import.pem')
    writeFileSync(file, pem, { mode: 0o600 })
    const words = ['--import', file, '--token', TOKEN_LABEL, '--label', label, '--id', id, '--pin', PIN]
    this.#run('softhsm2-util', words)
    rmSync(file)
  }

  /** pkcs11-tool of OpenSC, logged in; gives what it printed. */
  tool(...words: readonly string[]): string {
    return this.#run('pkcs11-tool', [
      '--module',
      MODULE,
      '--token-label',
      TOKEN_LABEL,
      '--login',
      '--pin',
      PIN,
      ...words,
    ])
  }

  /** As the security officer of the token does; without a PIN the one of the settings again. */
  setPin(pin: string = PIN): void {
    const officer = ['--login', '--login-type', 'so', '--so-pin', OFFICER_PIN]
    const token = ['--module', MODULE, '--token-label', TOKEN_LABEL]
    this.#run('pkcs11-tool', [...token, ...officer, '--init-pin', '--new-pin', pin])
  }

  /** As when the token is unplugged. */
  unplug(): void {
    renameSync(join(this.#folder, 'tokens'), join(this.#folder, 'away'))
    mkdirSync(join(this.#folder, 'tokens'))
  }

  plugIn(): void {
    rmSync(join(this.#folder, 'tokens'), { recursive: true })
    renameSync(join(this.#folder, 'away'), join(this.#folder, 'tokens'))
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #run(program: string, words: readonly string[]): string {
    const env = { ...process.env, SOFTHSM2_CONF: this.configFile }
    return execFileSync(program, words, { env, stdio: 'pipe', encoding: 'utf8' })
  }
}
