import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Router } from 'wouter'
import { problemOf } from './api/problem'
import { App } from './App'
import { useNarrowed, usePage } from './location'
import './style.css'

/** What was refused is not asked again by itself; what could not be reached is, once. */
const queries = new QueryClient({
  defaultOptions: {
    queries: { staleTime: 10_000, retry: (failed, error) => failed < 1 && problemOf(error).status === 0 },
  },
})

const root = document.getElementById('root')
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <Router hook={usePage} searchHook={useNarrowed}>
          <App />
        </Router>
      </QueryClientProvider>
    </StrictMode>,
  )
}
