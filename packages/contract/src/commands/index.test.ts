// oxlint-disable max-lines -- the list of all commands
import { describe, expect, it } from 'vitest'
import { type Command, GLOBAL_OPTIONS, PROGRAM_NAME } from './command.ts'
import { COMMAND_GROUPS } from './groups.ts'
import { COMMANDS } from './index.ts'

const PATHS = [
  'init',
  'up',
  'demo',
  'use',
  'keygen root',
  'keygen network-authority',
  'keygen operator',
  'keygen node',
  'keygen executor',
  'genesis create',
  'genesis sign',
  'genesis verify',
  'genesis succeed',
  'genesis follow',
  'authority start',
  'authority verify-db',
  'authority migrate',
  'authority migrate-db',
  'authority backup',
  'authority restore',
  'authority rehearse',
  'authority recover',
  'authority resign-lists',
  'authority import-evidence',
  'authority public-key',
  'authority rotate-key',
  'authority key-succession',
  'doctor',
  'settings',
  'findings',
  'watch',
  'audit export',
  'audit forward',
  'invite',
  'invite list',
  'invite withdraw',
  'join',
  'status',
  'heartbeat',
  'renew',
  'node run',
  'node label',
  'certs',
  'nodes',
  'revoke',
  'admission add',
  'admission list',
  'admission test',
  'admission remove',
  'agent register',
  'agent find',
  'agent list',
  'agent capabilities',
  'agent show',
  'agent remove',
  'agent card sign',
  'agent card verify',
  'wit',
  'operator list',
  'operator add',
  'operator remove',
  'operator revoke',
  'operator activity',
  'network-policy show',
  'network-policy publish',
  'network-policy rollback',
  'recognition-policy show',
  'recognition-policy publish',
  'attestation issue',
  'attestation revoke',
  'attestation list',
  'attestation verify',
  'treaty issue',
  'treaty renew',
  'treaty replace',
  'treaty revoke',
  'treaty list',
  'treaty inspect',
  'feed status',
  'feed export',
  'feed import',
  'sovereign inspect',
  'trust path',
  'federation bootstrap',
  'partner add',
  'partner list',
  'partner show',
  'partner pull',
  'partner set',
  'partner repin',
  'partner clear-alarm',
  'partner remove',
  'partner treaties',
  'agreement offer',
  'agreement counter',
  'agreement accept',
  'agreement cosign',
  'agreement verify',
  'decide',
  'evaluate',
  'ask',
  'mcp guard',
  'mcp pin',
  'boundary-policy new',
  'boundary-policy test',
  'boundary-policy validate',
  'boundary-policy simulate',
  'boundary-policy publish',
  'boundary-policy list',
  'boundary-policy history',
  'boundary-policy activate',
  'boundary-policy deactivate',
  'boundary-policy replay',
  'boundary-policy verify',
  'trust-evidence build',
  'trust-evidence verify',
  'disclose commit',
  'disclose prove',
  'disclose verify',
  'disclose nullify',
  'consensus vote',
  'consensus assemble',
  'consensus verify',
  'data-usage show',
  'data-usage policy',
  'data-usage intent',
  'data-usage verify',
  'verify',
  'verify pack',
  'verify bundle',
  'verify receipt',
  'trusted',
  'trusted archive',
  'gateway init',
  'gateway add-network',
  'gateway start',
  'gateway doctor',
  'gateway settings',
  'gateway token new',
  'gateway token digest',
  'gateway state floors',
  'gateway state verify',
  'gateway state backup',
  'gateway state rotate-issuer',
  'gateway state clear-suspect',
  'gateway state release-revocation',
  'gateway audit verify',
  'gateway audit export',
  'gateway audit prune',
  'gateway follow',
  'gateway preflight',
  'cert verify',
  'cert issue',
  'canonical',
  'authzen ask',
  'authzen certify',
  'evidence status',
  'evidence search',
  'evidence decisions',
  'evidence count',
  'evidence show',
  'evidence submit',
  'evidence resource',
  'evidence vendor',
  'evidence pack',
  'evidence bundle',
  'evidence rejections',
  'evidence export',
  'evidence archive',
  'evidence verify',
  'evidence prove',
  'evidence witness',
  'evidence witnesses',
  'evidence receipt',
  'evidence anchor',
  'evidence retain',
  'executor-key register',
  'executor-key retire',
  'executor-key list',
  'release verify',
  'completion',
  'version',
]

// Every flag of the service (protocol/core 25).
const AUTHORITY_FLAGS = [
  '--genesis',
  '--na-private-key',
  '--key-id',
  '--operator-public-key',
  '--operator-key-tier',
  '--db-path',
  '--boundary-policy-enforcement',
  '--evidence-store',
  '--host',
  '--port',
  '--management-host',
  '--management-port',
  '--env-file',
]

function named(path: string): Command | undefined {
  return COMMANDS.find((command) => command.path.join(' ') === path)
}

function flagsOf(options: Command['options']): string[] {
  return options.map((option) => option.flags.split(' ')[0] ?? '')
}

describe('commands', () => {
  it('are exactly those of this release', () => {
    const hint = 'a new command is added by hand to PATHS of this file, in the same place'
    expect(
      COMMANDS.map((command) => command.path.join(' ')),
      hint,
    ).toEqual(PATHS)
  })

  it('give the service every flag it has', () => {
    const options = named('authority start')?.options ?? []
    expect(flagsOf(options)).toEqual(AUTHORITY_FLAGS)
    const repeatable = options.filter((option) => option.repeatable)
    expect(flagsOf(repeatable)).toEqual(['--operator-public-key', '--operator-key-tier'])
  })

  it('ask for an operator key only where the authority does', () => {
    const signing = COMMANDS.filter((command) => command.needs === 'operator').map((command) => command.path.join(' '))
    expect(signing, 'a new command that needs an operator key is added by hand to this list').toEqual([
      'findings',
      'invite',
      'invite list',
      'invite withdraw',
      'node label',
      'certs',
      'revoke',
      'admission add',
      'admission list',
      'admission test',
      'admission remove',
      'agent list',
      'agent capabilities',
      'operator revoke',
      'operator activity',
      'network-policy publish',
      'network-policy rollback',
      'recognition-policy publish',
      'attestation issue',
      'attestation revoke',
      'treaty issue',
      'treaty renew',
      'treaty replace',
      'treaty revoke',
      'feed import',
      'federation bootstrap',
      'partner add',
      'partner list',
      'partner show',
      'partner pull',
      'partner set',
      'partner repin',
      'partner clear-alarm',
      'partner remove',
      'partner treaties',
      'agreement offer',
      'agreement counter',
      'agreement accept',
      'agreement cosign',
      'decide',
      'evaluate',
      'boundary-policy validate',
      'boundary-policy simulate',
      'boundary-policy publish',
      'boundary-policy list',
      'boundary-policy history',
      'boundary-policy activate',
      'boundary-policy deactivate',
      'trust-evidence build',
      'disclose commit',
      'disclose nullify',
      'consensus vote',
      'consensus assemble',
      'data-usage policy',
      'data-usage intent',
      'trusted',
      'trusted archive',
      // Reading the store is an operator's matter, too: it names members.
      'evidence status',
      'evidence search',
      'evidence decisions',
      'evidence count',
      'evidence show',
      'evidence resource',
      'evidence vendor',
      'evidence pack',
      'evidence bundle',
      'evidence rejections',
      'evidence export',
      'evidence archive',
      'evidence prove',
      'evidence witnesses',
      'evidence receipt',
      'evidence anchor',
      'evidence retain',
      'executor-key register',
      'executor-key retire',
      'executor-key list',
    ])
    expect(named('authority start')?.needs).toBe('authority-host')
  })

  it('let every command that takes trust away be tried first', () => {
    const names = [
      'revoke',
      'invite withdraw',
      'operator revoke',
      'attestation revoke',
      'treaty replace',
      'treaty revoke',
    ]
    for (const name of names)
      expect(flagsOf(named(name)?.options ?? []), name).toEqual(expect.arrayContaining(['--dry-run', '--yes']))
  })

  it('speak for a node where its home is named', () => {
    const ofNodes = COMMANDS.filter((command) => command.needs === 'node')
    for (const { path, options } of ofNodes) expect(flagsOf(options), path.join(' ')).toContain('--home')
  })

  it('take many words only in last place', () => {
    for (const { path, arguments: words } of COMMANDS)
      expect(
        words.slice(0, -1).filter((word) => word.variadic),
        path.join(' '),
      ).toEqual([])
  })

  it('write flags in one form and never twice, global ones included', () => {
    for (const command of COMMANDS) {
      const options = [...GLOBAL_OPTIONS, ...command.options]
      for (const option of options) expect(option.flags, option.flags).toMatch(/^--[a-z]+(-[a-z]+)*( <[^<>]+>)?$/)
      expect(new Set(flagsOf(options)).size, command.path.join(' ')).toBe(options.length)
    }
  })

  it('never make a switch required, nor give one a default', () => {
    for (const option of COMMANDS.flatMap((command) => command.options)) {
      if (option.flags.includes(' ')) continue
      expect(option, option.flags).not.toHaveProperty('required')
      expect(option, option.flags).not.toHaveProperty('default')
    }
  })

  it('have imperative summaries under 60 characters without a full stop, and at most three sentences of description', () => {
    for (const { path, summary, description } of COMMANDS) {
      expect(summary, path.join(' ')).toMatch(/^[A-Z][^.]{1,58}$/)
      expect(description, path.join(' ')).toMatch(/^[A-Z].*\.$/)
      expect(description.split(/\. (?=[A-Z])/).length, path.join(' ')).toBeLessThanOrEqual(3)
    }
  })

  it('have a description of every word that groups commands, in the same form', () => {
    const paths = new Set(COMMANDS.map(({ path }) => path.join(' ')))
    const words = COMMANDS.flatMap(({ path }) => path.slice(0, -1).map((_word, at) => path.slice(0, at + 1).join(' ')))
    const groups = [...new Set(words)].filter((word) => !paths.has(word)).sort()
    expect(Object.keys(COMMAND_GROUPS).sort(), 'a word that groups commands needs a line in groups.ts').toEqual(groups)
    for (const summary of Object.values(COMMAND_GROUPS)) expect(summary).toMatch(/^[A-Z][^.]{1,58}$/)
  })

  it('describe options, arguments and examples without a full stop', () => {
    const texts = COMMANDS.flatMap((command) => [...command.options, ...command.arguments, ...command.examples])
    for (const { summary } of [...GLOBAL_OPTIONS, ...texts]) expect(summary).not.toMatch(/\.$/)
  })

  it('show examples that use the command, its required options and no flag that does not exist', () => {
    for (const command of COMMANDS) {
      const known = [...flagsOf(GLOBAL_OPTIONS), ...flagsOf(command.options)]
      const required = flagsOf(command.options.filter((option) => option.required))
      for (const { line } of command.examples) {
        expect(line.startsWith([PROGRAM_NAME, ...command.path].join(' ')), line).toBe(true)
        // Words after `--` are a command of another program.
        const own = line.split(' -- ')[0] ?? ''
        const used = own.split(' ').filter((word) => word.startsWith('--'))
        expect(known, line).toEqual(expect.arrayContaining(used))
        expect(used, line).toEqual(expect.arrayContaining(required))
      }
    }
  })
})
