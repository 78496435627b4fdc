import { useState } from 'preact/hooks'
import type { JSX } from 'preact'
import { OperationList } from '../components/operation-list.tsx'
import { RequestForm } from '../components/request-form.tsx'
import { useNarrow } from '../components/use-narrow.ts'
import type { Catalogue } from '../requests/catalogue.ts'
import type { Draft, Session } from '../session.ts'

export interface ExplorerProps {
  readonly session: Session
  readonly setSession: (change: (current: Session) => Session) => void
  readonly catalogue: Catalogue
  readonly chosen: string | undefined
  readonly draft: Draft | undefined
}

/** Lists every route of the gateway and every catalogued operation, each with a form made from its description. */
export function ExplorerPage({ session, setSession, catalogue, chosen, draft }: ExplorerProps): JSX.Element {
  const isNarrow = useNarrow()
  const [search, setSearch] = useState('')
  const [group, setGroup] = useState('')
  const operation = catalogue.operations.find(({ id }) => id === chosen)
  const list = (
    <OperationList
      operations={catalogue.operations}
      chosen={chosen}
      search={search}
      setSearch={setSearch}
      group={group}
      setGroup={setGroup}
    />
  )
  return (
    <>
      {catalogue.problem === undefined ? null : <p role="alert">{catalogue.problem}</p>}
      <div class="workbench">
        {isNarrow && operation !== undefined ? (
          // The key changes with each selection, so that the list closes.
          <details key={operation.id} class="panel catalogue">
            <summary>All operations</summary>
            {list}
          </details>
        ) : (
          <section class="panel catalogue" aria-label="Operations">
            {list}
          </section>
        )}
        {operation === undefined ? (
          <p class="panel empty">
            {chosen === undefined ? 'Choose an operation.' : 'There is no such operation in this release.'}
          </p>
        ) : (
          <RequestForm
            key={operation.id}
            operation={operation}
            session={session}
            setSession={setSession}
            draft={draft?.operation === operation.id ? draft : undefined}
          />
        )}
      </div>
    </>
  )
}
