import { dirname, join, resolve } from 'node:path'
import {
  FormError,
  JsonError,
  authorityKeysAt,
  readJoinCertificate,
  readJson,
  verifyJoinCertificate,
} from '@chancery/protocol'
import type { AuthorityKeys, GenesisBlock, Instant, JoinCertificate, JsonValue, Signer } from '@chancery/protocol'
import type { FollowedKeys } from '@chancery/sdk/internal'
import { stringify } from 'smol-toml'
import { CONFIG_FILE, type Config } from '../files/config.ts'
import { type Connection, type Endpoint, open } from './connection.ts'
import { findConfig } from './target.ts'
import type { CommandContext } from '../context.ts'
import { CommandError, usageError } from '../errors/failure.ts'
import { FOR_ALL, errorCode, readText, replaceFile } from '../files/files.ts'
import { openFollowedKeys } from './followed-keys.ts'
import { loadVerifiedGenesis } from '../files/genesis-file.ts'
import { loadSigner } from '../files/keys.ts'
import type { Options } from '../arguments/options.ts'

/** The files of one node. */
export interface NodeFiles {
  readonly privateKey: string
  readonly certificate: string
  readonly genesis: string
  readonly policy: string
  readonly crl: string
  /** The newest block of the root and its key history, as the node followed them. */
  readonly keys: string
}

/** All files are below one folder. */
export function nodeFiles(home: string): NodeFiles & { readonly keyBase: string; readonly config: string } {
  return {
    keyBase: join(home, 'node'),
    privateKey: join(home, 'node.key'),
    certificate: join(home, 'certificate.json'),
    genesis: join(home, 'genesis.json'),
    policy: join(home, 'policy.json'),
    crl: join(home, 'crl.json'),
    keys: join(home, 'keys.json'),
    config: join(home, CONFIG_FILE),
  }
}

/** Returns the configuration of a node. Paths are relative, so that the folder can be moved. */
export function nodeConfigText(
  network: GenesisBlock,
  url: string,
  evidence?: Readonly<Record<string, string>>,
): string {
  const document = {
    network: { name: network.network_name, version: network.network_version, na_endpoint: url },
    paths: {
      home: '.',
      genesis: 'genesis.json',
      node_private_key: 'node.key',
      node_certificate: 'certificate.json',
      policy: 'policy.json',
    },
    ...(evidence === undefined ? {} : { evidence }),
  }
  return `# Home of a node: configuration of a node of ${network.network_name}, written by chancery join. It contains no secret.\n${stringify(document)}`
}

/** A connection that proves possession of the node key to the pinned authority. */
export interface NodeConnection extends Connection {
  /** The pinned block; later keys are in `followed`. */
  readonly genesis: GenesisBlock
  readonly authorityKey: string
  readonly followed: FollowedKeys
  readonly signer: Signer
  readonly files: NodeFiles
}

/** Opens the folder of a node. A node calls only the authority of its genesis block. */
export async function connectAsNode(context: CommandContext, options: Options): Promise<NodeConnection> {
  const config = await findConfig(context, options)
  const files = filesOf(config)
  if (files === undefined) {
    const hint = 'To join, ask an operator for an invite and a genesis block.'
    throw usageError('This command needs the folder of a node.', hint)
  }
  const url = options.text('url') ?? config.network.na_endpoint
  if (url === undefined) throw usageError('The URL of the authority is missing.', 'Give --url <address>.')
  const genesis = await loadVerifiedGenesis(files.genesis)
  const signer = await loadNodeSigner(context, files.privateKey)
  const followed = await openFollowedKeys(genesis, files.keys)
  const authorityKey = followed.audience
  const endpoint: Endpoint = { url, config, genesis, authorityKey, followed }
  const connection = open(context, endpoint, { node: { signer, audience: () => followed.audience } })
  return { ...connection, genesis, authorityKey, followed, signer, files }
}

/** The key id of a node key is only a label; records carry the public key instead. */
export function loadNodeSigner(context: CommandContext, file: string): Promise<Signer> {
  return loadSigner(context, file, (noted) => noted ?? 'node')
}

function filesOf({ paths, file }: Config): NodeFiles | undefined {
  const { node_private_key: privateKey, node_certificate: certificate, genesis } = paths
  if (privateKey === undefined || certificate === undefined || genesis === undefined) return undefined
  const home = paths.home ?? dirname(file ?? resolve('.'))
  return {
    privateKey,
    certificate,
    genesis,
    policy: paths.policy ?? join(home, 'policy.json'),
    crl: join(home, 'crl.json'),
    keys: join(dirname(genesis), 'keys.json'),
  }
}

/** Reads the certificate of a node and checks its form only. Undefined when there is none. */
export async function findCertificate(path: string): Promise<JoinCertificate | undefined> {
  return findRecord(path, 'a certificate', readJoinCertificate)
}

export async function loadCertificate({ certificate: path }: NodeFiles): Promise<JoinCertificate> {
  const found = await findCertificate(path)
  if (found !== undefined) return found
  const hint = 'To join, ask an operator for an invite and a genesis block.'
  throw new CommandError({
    code: 'no_certificate',
    message: `This node has no certificate: ${path} does not exist.`,
    hint,
  })
}

/** Returns a record from a file, read strictly; undefined when there is no file. */
export async function findRecord<StoredRow>(
  path: string,
  what: string,
  read: (value: JsonValue) => StoredRow,
): Promise<StoredRow | undefined> {
  try {
    const text = await readText(path)
    // This program wrote the file, so the number of values is not limited.
    return read(readJson(text, { maxDepth: 64, maxValues: text.length, maxNames: text.length }))
  } catch (error) {
    if (error instanceof CommandError && errorCode(error.cause) === 'ENOENT') return undefined
    if (!(error instanceof FormError || error instanceof JsonError)) throw error
    throw new CommandError(
      { code: 'invalid_file', message: `${path} does not contain ${what}: ${error.message}.` },
      { cause: error },
    )
  }
}

/** Writes atomically: after a power loss the file has the earlier or the new certificate. */
export function storeCertificate(
  { certificate: path }: Pick<NodeFiles, 'certificate'>,
  certificate: JoinCertificate,
): Promise<void> {
  return replaceFile(path, recordText(certificate), FOR_ALL)
}

/** For people; the signature covers the canonical form, so layout is free. */
export function recordText(record: object): string {
  return `${JSON.stringify(record, undefined, 2)}\n`
}

export interface Expected {
  readonly keys: AuthorityKeys
  /** The expected owner of a certificate. */
  readonly publicKey: string
  readonly now: Instant
}

/**
 * Returns why a certificate is not the one this node requested, or undefined. An authority or a proxy may send a wrong
 * one.
 */
export async function findCertificateProblem(
  certificate: JoinCertificate,
  expected: Expected,
): Promise<string | undefined> {
  const { keys, publicKey, now } = expected
  if (certificate.node_public_key !== publicKey) return 'it belongs to another node key'
  const verdict = await verifyJoinCertificate(certificate, {
    network_name: keys.genesis.network_name,
    authorityKey: authorityKeysAt(keys, certificate.issued_at),
    now,
  })
  if (verdict.ok) return undefined
  return {
    wrong_network: 'it is of another network',
    missing_signature: 'it carries no signature',
    invalid_signature: 'the authority of the genesis block did not sign it',
    not_yet_valid: 'it is not valid yet; the clock of this machine may be behind',
    expired: 'it has expired; the clock of this machine may be ahead',
  }[verdict.reason]
}

/** Checks a new certificate of the authority before it is used. */
export async function requireOwnCertificate(certificate: JoinCertificate, expected: Expected): Promise<void> {
  const problem = await findCertificateProblem(certificate, expected)
  if (problem === undefined) return
  throw new CommandError({
    code: 'invalid_certificate',
    message: `The certificate ${certificate.cert_id} is not usable: ${problem}.`,
    hint: 'It was not saved. Compare clock and genesis block with those of the operator, then ask for a new invite.',
  })
}
