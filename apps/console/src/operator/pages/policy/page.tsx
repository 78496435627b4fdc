import { writeJson } from '@chancery/protocol'
import type { ActiveBoundaryPolicies, BoundaryPolicyVersion } from '@chancery/sdk/authority'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { at, authorityNow, read } from '../../client.ts'
import type { PageProps } from '../../pages.ts'
import { Bar, type Liveness } from '../../parts/bar.tsx'
import { Id } from '../../parts/id.tsx'
import { type Column, List, type ListPage, type ListRequest } from '../../parts/list.tsx'
import { State } from '../../parts/state.tsx'
import { Time } from '../../parts/time.tsx'
import type { Finding } from '../../proof/check-record.ts'
import { VerifiedHere, useCheck } from '../../proof/verified-here.tsx'
import { withQuery } from '../../router.ts'
import { Acts, doHref } from '../../signing/review.tsx'
import { activateAct, deactivateAct } from '../policies/acts.ts'
import { ReplayedAct } from '../policies/activation.tsx'
import { DiffCount, DiffView } from '../policies/diff-view.tsx'
import { readHistory, versionsOf } from '../policies/history.ts'
import { draftHref } from '../policies/links.ts'
import { policyState } from '../policies/policy-state.ts'
import { intentOf, policyText } from '../policies/policy-text.ts'
import { useReplay } from '../policies/replay.ts'

interface VersionsPage extends ListPage<BoundaryPolicyVersion> {
  readonly set: ActiveBoundaryPolicies
  /** The text of which the rows are. */
  readonly text: string
}

const NONE = (
  <span class="quiet" aria-label="none">
    –
  </span>
)

interface Checked {
  readonly byVersion: ReadonlyMap<number, Finding>
  /** The rows of the checked text. A list can show rows of an earlier read. */
  readonly rows: ReadonlySet<string>
}
type Findings = Checked | Error | undefined

const rowText = (row: BoundaryPolicyVersion): string => writeJson(row)

function findingOf(findings: Findings, row: BoundaryPolicyVersion): Finding | undefined {
  if (findings === undefined || findings instanceof Error) return findings
  return findings.rows.has(rowText(row)) ? findings.byVersion.get(row.version) : undefined
}

/** Verifies the versions when what is shown of them changes. */
function useFindings(id: string, page: VersionsPage | undefined): Findings {
  return useCheck<Checked>(`${id} ${page?.text ?? ''}`, async () => {
    if (page === undefined || page.rows.length === 0) return { byVersion: new Map(), rows: new Set() }
    const { checkPolicyVersions } = await import('../../proof/check-record.ts')
    const rows = new Set(versionsOf(page.text).map(rowText))
    return { byVersion: await checkPolicyVersions(id, page.text), rows }
  })
}

const COLUMNS: readonly Column<BoundaryPolicyVersion>[] = [
  {
    head: 'Version',
    phone: 'a',
    cell: ({ version, description }) => (
      <>
        <span class="two">
          <b class="name">version {version}</b>
        </span>
        <span class="two">{description}</span>
      </>
    ),
  },
  { head: 'State', phone: 'b', cell: (row) => <State {...policyState(row, authorityNow())} /> },
  { head: 'Published', phone: 'c', cell: ({ created_at }) => <Time at={created_at} /> },
  {
    head: 'In force from',
    low: 'low2',
    cell: ({ activated_at }) => (activated_at === null ? NONE : <Time at={activated_at} />),
  },
  {
    head: 'Until',
    low: 'low2',
    cell: ({ active, deactivated_at }) => (active || deactivated_at === null ? NONE : <Time at={deactivated_at} />),
  },
  {
    head: 'Valid until',
    low: 'low',
    cell: ({ valid_until }) => (valid_until === null ? NONE : <Time at={valid_until} />),
  },
  { head: 'Digest', low: 'low', cell: ({ policy_digest }) => <Id id={policy_digest} what="the digest" /> },
  { head: 'Actions', phone: 'd', cell: (row) => <Actions {...row} /> },
]

const columnsOf = (findings: Findings): readonly Column<BoundaryPolicyVersion>[] => [
  ...COLUMNS.slice(0, -1),
  {
    head: 'Signature',
    low: 'low2',
    cell: (row) => <VerifiedHere finding={findingOf(findings, row)} />,
  },
  ...COLUMNS.slice(-1),
]

function Actions({ version, active, policy }: BoundaryPolicyVersion): JSX.Element {
  return (
    <span class="nowrap">
      {policy === null ? null : (
        <a
          class="btn tiny"
          href={withQuery({ compare: String(version), do: undefined })}
          aria-label={`Compare ${version}`}
        >
          Compare
        </a>
      )}{' '}
      {active ? (
        <a class="btn tiny" href={doHref(`deactivate-${version}`)} aria-label={`Deactivate ${version}…`}>
          Deactivate…
        </a>
      ) : policy === null ? null : (
        <a class="btn tiny" href={doHref(`activate-${version}`)} aria-label={`Activate ${version}…`}>
          Activate…
        </a>
      )}
    </span>
  )
}

/** Which version is in force, and which was before? */
export function Page({ params, query }: PageProps): JSX.Element {
  const id = params['policy_id'] ?? ''
  const [live, setLive] = useState<Liveness>({ readAt: undefined, isStale: false })
  const [page, setPage] = useState<VersionsPage>()
  const newest = page?.rows[0]?.version
  const findings = useFindings(id, page)
  return (
    <>
      <Bar
        title={id}
        asks="Which version is in force?"
        crumbs={[{ href: '/operator/policies', text: 'Policies' }]}
        live={live}
      >
        <a class="btn primary" href={draftHref(id)}>
          {newest === undefined ? 'Draft…' : `Draft version ${newest + 1}…`}
        </a>
      </Bar>
      <NotVerified findings={findings} />
      <List<BoundaryPolicyVersion>
        name="Versions"
        topics={['policies']}
        columns={columnsOf(findings)}
        rowId={({ policy_digest }) => policy_digest}
        rowName={({ version }) => `version ${version}`}
        load={(request) => load(id, request)}
        order="newest first"
        empty={{ icon: 'policy', title: 'No versions', text: 'Draft the first version of this policy.' }}
        onLive={(next) => {
          setLive(next)
          if (next.value !== undefined) setPage(next.value as VersionsPage)
        }}
      />
      {page === undefined ? null : (
        <>
          <Compared rows={page.rows} version={Number(query.get('compare') ?? page.rows[0]?.version)} />
          <VersionActs id={id} page={page} query={query} />
        </>
      )}
    </>
  )
}

/** A version that does not verify is reported on every screen. */
function NotVerified({ findings }: { readonly findings: Findings }): JSX.Element | null {
  if (findings === undefined || findings instanceof Error) return null
  const failed = [...findings.byVersion].filter(([, finding]) => typeof finding === 'string' && finding !== '')
  return failed.length === 0 ? null : (
    <p class="banner bad" role="alert" data-not-verified>
      {failed.map(([version, finding]) => `Version ${version}: ${String(finding)}`).join(' ')}
    </p>
  )
}

async function load(id: string, { signal }: ListRequest): Promise<VersionsPage> {
  const [{ versions: rows, text }, set] = await Promise.all([
    readHistory(id, signal),
    read<ActiveBoundaryPolicies>(at`/admin/boundary-policies/active`, {}, signal),
  ])
  return { rows, nextCursor: null, total: rows.length, set, text }
}

const textOf = ({ policy }: BoundaryPolicyVersion): string => (policy === null ? '' : policyText(intentOf(policy)))

/** One version against the version in force; the version in force against the one before it. */
function Compared(props: {
  readonly rows: readonly BoundaryPolicyVersion[]
  readonly version: number
}): JSX.Element | null {
  const { rows, version } = props
  const chosen = rows.find((row) => row.version === version)
  if (chosen === undefined) return null
  const active = rows.find((row) => row.active)
  const base = active === undefined || active === chosen ? rows.find((row) => row.version < version) : active
  const name = base === undefined ? 'an empty policy' : `version ${base.version}${base.active ? ', in force' : ''}`
  const texts = { before: base === undefined ? '' : textOf(base), after: textOf(chosen) }
  return (
    <div class="editor single">
      <section aria-label="Difference" data-compared={`${base?.version ?? 0}-${version}`}>
        <header class="strip topline">
          <b>
            Version {version} against {name}
          </b>
          <div class="end">
            <DiffCount {...texts} />
          </div>
        </header>
        <DiffView {...texts} name={name} />
      </section>
    </div>
  )
}

function VersionActs(props: {
  readonly id: string
  readonly page: VersionsPage
  readonly query: URLSearchParams
}): JSX.Element | null {
  const { id, page, query } = props
  const [, verb, number] = /^(activate|deactivate)-([0-9]+)$/.exec(query.get('do') ?? '') ?? []
  const row = page.rows.find(({ version }) => version === Number(number))
  const isActivation = verb === 'activate'
  const text = row === undefined ? '' : textOf(row)
  const intent = isActivation && row?.policy ? intentOf(row.policy) : undefined
  const { replay } = useReplay(text, intent)
  if (row === undefined) return null
  const change = { policyId: id, version: row.version, before: page.rows.find(({ active }) => active)?.version }
  if (!isActivation) return <Acts of={[deactivateAct(change, page.set)]} query={query} />
  return (
    <ReplayedAct
      title={`Activate ${id} ${row.version}`}
      replay={replay}
      act={(done) => activateAct(change, done)}
      query={query}
    />
  )
}
