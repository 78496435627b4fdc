import { globSync } from 'node:fs'
import { basename, join } from 'node:path'

/** Order of the pages on the site. */

/** Returns the pages of a docs folder: first the named ones, then all others, so that a new page is always listed. */
function folder(name, first = [], elsewhere = []) {
  const rest = globSync('*.md', { cwd: join('../docs', name) })
    .map((file) => basename(file, '.md'))
    .filter((page) => page !== 'index' && !first.includes(page) && !elsewhere.includes(page))
  return [...first, ...rest.toSorted()].map((page) => join(name, page))
}

const group = (label, items, collapsed = true) => ({ label, items, collapsed })

const CONCEPTS = [
  'sovereign-network',
  'nodes-and-certificates',
  'revocation-and-freshness',
  'treaties-and-recognition',
  'boundary-decisions',
  'evidence',
  'gateway',
  'keys',
  'backup-and-recovery',
]
const HANDBOOK = [
  'install',
  'packages',
  'install-helm',
  'deploy',
  'configure',
  'keys',
  'backup',
  'upgrade',
  'incidents',
  'hardening',
  'capacity',
  'high-availability',
  'monitoring',
  'partners',
  'doctor',
]
const EVALUATE = ['threat-model', 'comparison', 'first-hour', 'evidence']

export const sidebar = [
  { label: 'Start here', link: '/' },
  group(
    'Tutorials',
    folder('tutorial', [
      'demo',
      'first-network',
      'two-networks',
      'two-companies',
      'gateway',
      'boundary-policies',
      'evidence',
    ]),
    false,
  ),
  group('How do I …?', ['how-to', ...folder('how-to')], false),
  group('Concepts', folder('concepts', CONCEPTS), false),
  group('Operator handbook', folder('operate', HANDBOOK)),
  group('Programs', folder('', ['client-library', 'offline-verification'], ['architecture', ...EVALUATE])),
  group(
    'Protocol',
    folder('protocol', ['core', 'trust-operations', 'gateway', 'partners', 'request-proof', 'wimse', 'evidence-pack']),
  ),
  group('Reference', folder('reference', ['records', 'routes', 'errors', 'commands', 'settings'])),
  group('How the code works', ['architecture', ...folder('flows')]),
  group('Evaluate', EVALUATE),
  group('Decisions', ['decisions', ...folder('decisions')]),
  group('Project', [
    'project/changelog',
    'project/contributing',
    ...folder('project', ['first-tasks', 'add-a-route', 'style', 'tests', 'roadmap']),
    'project/security',
    'project/versioning',
    'project/governance',
    'project/code-of-conduct',
  ]),
]
