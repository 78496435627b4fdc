import '../visible-text.ts'
import { render } from 'preact'
import { App } from './app.tsx'
import '../styles.css'
import './explorer.css'

/** The endpoint explorer of a gateway: an application of its own, since everything it shows depends on a token. */
const element = document.querySelector('#explorer')
if (element !== null) {
  // The plain links stand there for readers without script.
  element.replaceChildren()
  render(<App />, element)
  document.body.dataset['enriched'] = 'done'
}
