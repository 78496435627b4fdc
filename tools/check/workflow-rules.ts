import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseDocument } from 'yaml'

/** Rules of the files in .github/workflows. docs/project/workflows.md gives the reason for each. */

export interface WorkflowFinding {
  /** The job, or the name of the file. */
  readonly at: string
  readonly rule: string
  readonly found: string
}

interface Step {
  readonly uses?: string
  readonly run?: string
  readonly with?: Readonly<Record<string, unknown>>
}

interface Job {
  readonly uses?: string
  readonly permissions?: unknown
  readonly environment?: unknown
  readonly container?: unknown
  readonly services?: Readonly<Record<string, unknown>>
  readonly 'runs-on'?: unknown
  readonly 'timeout-minutes'?: unknown
  readonly steps?: readonly Step[]
}

interface Workflow {
  readonly on?: unknown
  readonly permissions?: unknown
  readonly jobs?: Readonly<Record<string, Job>>
}

export interface Repository {
  readonly root: string
  /** Names of the scripts of package.json. */
  readonly scripts: ReadonlySet<string>
  /** Rights besides `read`, as `file/job: right`. A new one is added in the same change as its reason. */
  readonly rights: ReadonlySet<string>
}

/** Events that a person without rights cannot start with rights of the repository. Comments, for example, are none. */
const SAFE_EVENTS = ['pull_request', 'merge_group', 'push', 'schedule', 'workflow_dispatch', 'branch_protection_rule']
const PINNED = /^[\w.-]+\/[\w./-]+@[0-9a-f]{40}$/
const VERSION = /^[^#]*uses: +(\S+)(?: +# (v\d+\.\d+\.\d+))?\s*$/
/** Commands that fetch programs which no lock file or digest names. */
const UNPINNED = /\b(?:npm (?:install|i|add|exec)|npx|pip3? install|curl|wget)\b/g
const SCRIPT = /\bnpm (?:run|test)\b((?: +--silent)?)(?: +([\w:.-]+))?|(?:^|\s)\.ci\/run(?: +([\w:]+))?/g
const FILE = /(?:^|[\s"'=])((?:\.ci|\.github|tools|tests|deploy|packages|apps|bench)\/[\w./-]+)/g

export function checkWorkflow(file: string, text: string, repository: Repository): readonly WorkflowFinding[] {
  const document = parseDocument(text, { uniqueKeys: true })
  const problems = document.errors.map(({ message }) => ({ at: file, rule: 'yaml', found: message }))
  if (problems.length > 0) return problems
  const workflow = document.toJS() as Workflow
  const findings: WorkflowFinding[] = []
  const report = (at: string, rule: string, found: unknown): void => {
    findings.push({ at, rule, found: typeof found === 'string' ? found : (JSON.stringify(found) ?? 'nothing') })
  }
  if (JSON.stringify(workflow.permissions) !== '{}') report(file, 'no rights at the top', workflow.permissions)
  for (const event of eventsOf(workflow.on)) if (!SAFE_EVENTS.includes(event)) report(file, 'safe events', event)
  const jobs = Object.entries(workflow.jobs ?? {})
  checkPins(text, jobs, (found) => report(file, 'action by digest with its version', found))
  if (jobs.length === 0) report(file, 'has jobs', 'none')
  for (const [name, job] of jobs) checkJob(name, job, { file, repository, report })
  // Whatever is outside of the jobs applies to all of them.
  if (/\bsecrets\b/.test(JSON.stringify({ ...workflow, jobs: undefined }))) report(file, 'secrets in release', 'top')
  return findings
}

interface Scope {
  readonly file: string
  readonly repository: Repository
  readonly report: (at: string, rule: string, found: unknown) => void
}

function checkJob(name: string, job: Job, { file, repository, report }: Scope): void {
  const isRelease = job.environment === 'release'
  const all = JSON.stringify(job)
  for (const right of rightsOf(job.permissions)) {
    if (right === undefined) report(name, 'rights of the job', job.permissions)
    else if (!right.endsWith(': read') && !repository.rights.has(`${file}/${name}: ${right}`))
      report(name, 'listed rights', right)
  }
  if (!isRelease && /\bsecrets\b/.test(all)) report(name, 'secrets in release', 'secrets')
  if (typeof job['timeout-minutes'] !== 'number') report(name, 'time limit', job['timeout-minutes'])
  if (/-latest\b/.test(JSON.stringify(job['runs-on'] ?? '-latest'))) report(name, 'named runner', job['runs-on'])
  for (const image of imagesOf(job))
    if (typeof image !== 'string' || !/@sha256:[0-9a-f]{64}$/.test(image)) report(name, 'image by digest', image)
  for (const { uses = '', run = '', with: input = {} } of job.steps ?? []) {
    if (uses.startsWith('actions/checkout@') && input['persist-credentials'] !== false)
      report(name, 'persist-credentials: false', uses)
    const isOpen = uses.startsWith('actions/setup-node@') && input['package-manager-cache'] !== false
    if ('cache' in input || isOpen || uses.startsWith('actions/cache')) report(name, 'no caches', uses)
    const node = input['node-version']
    if (node !== undefined && !(typeof node === 'string' && /^\d+\.\d+\.\d+$/.test(node)))
      report(name, 'exact Node.js', node)
    // A value inside a script is code. It belongs in `env`.
    if (run.includes('${{')) report(name, 'no expression in a script', run)
    for (const [command] of run.matchAll(UNPINNED)) report(name, 'nothing unpinned is fetched', command)
    for (const found of missingIn(run, repository)) report(name, 'exists', found)
  }
}

/** Returns scripts and files that `run` names and the repository lacks. */
function missingIn(run: string, { root, scripts }: Repository): readonly string[] {
  const called = [...run.matchAll(SCRIPT)].flatMap(([all, , script, ci]) => {
    const name = all.includes('.ci/run') ? (ci ?? 'check') : (script ?? 'test')
    return scripts.has(name) ? [] : [`script ${name}`]
  })
  const named = [...run.matchAll(FILE)].map(([, path = '']) => path)
  return [...called, ...named.filter((path) => !existsSync(join(root, path)))]
}

/** Images of the container and of the services next to it. */
function imagesOf({ container, services }: Job): readonly unknown[] {
  const places = [...(container === undefined ? [] : [container]), ...Object.values(services ?? {})]
  return places.map((place) => (typeof place === 'object' && place !== null && 'image' in place ? place.image : place))
}

/**
 * Every action has a digest, and on its line a version, which is a comment and so no part of the parsed file. The parsed
 * file decides what is an action: YAML has more spellings of `uses:` than a pattern finds.
 */
function checkPins(text: string, jobs: readonly (readonly [string, Job])[], report: (found: string) => void): void {
  const lines = text.split('\n').map((line) => VERSION.exec(line))
  const noted = new Set(lines.flatMap((found) => (found?.[2] === undefined ? [] : [found[1]])))
  const used = jobs.flatMap(([, job]) => [job.uses, ...(job.steps ?? []).map(({ uses }) => uses)])
  const actions = used.filter((action) => action !== undefined)
  for (const action of actions) if (!PINNED.test(action) || !noted.has(action)) report(action)
}

/** Returns the pins of a file, as `owner/repository@digest # version`. */
export function pinsOf(text: string): readonly string[] {
  return text.split('\n').flatMap((line) => {
    const [, action, version] = VERSION.exec(line) ?? []
    // Actions of one repository, such as codeql-action/init and /analyze, share a digest.
    return action === undefined ? [] : [`${action.replace(/^([^/]+\/[^/@]+)[^@]*/, '$1')} # ${version}`]
  })
}

function eventsOf(on: unknown): readonly string[] {
  if (typeof on === 'string') return [on]
  return Array.isArray(on) ? on.map(String) : Object.keys(on ?? {})
}

/** Returns `contents: read` for each right, and undefined for what is not a list of rights. */
function rightsOf(permissions: unknown): readonly (string | undefined)[] {
  if (typeof permissions !== 'object' || permissions === null || Array.isArray(permissions)) return [undefined]
  return Object.entries(permissions).map(([name, value]) =>
    value === 'read' || value === 'write' ? `${name}: ${value}` : undefined,
  )
}
